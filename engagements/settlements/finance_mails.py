"""Mail finance about days and files that wait for it: refund days, bank lines."""

from __future__ import annotations

from engagements.billing.bank_models import BankImport
from engagements.common import links
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.engagement.models import Engagement
from engagements.notifications import mails
from engagements.notifications.delivery import finance_users
from engagements.people.models import User
from engagements.settlements.models import Settlement


def write_all(
    *, key: str, subject: str, body: str, engagement: Engagement | None = None, but: User | None
) -> None:
    """Mail the active people of finance once by `key`, except `but`."""
    for person in finance_users(but=but):
        mails.write(
            key=key,
            engagement=engagement,
            recipient=person.email,
            subject=subject,
            body=body,
        )


def warn_of_refund_day(*, settlement: Settlement) -> None:
    """Mail finance once about a refund day that is near."""
    due_on, engagement = settlement.refund_due_on, settlement.contract_version.engagement
    if due_on is None:
        return
    amount = format_money(settlement.refund, settlement.currency)
    write_all(
        key=f"refund-day:{settlement.pk}:{due_on.isoformat()}",
        engagement=engagement,
        subject=f"Refund due on {in_words(due_on)}: {engagement.reference}",
        body=f"The refund of {amount} to {engagement.customer} is due on {in_words(due_on)}. "
        f"Its state is {settlement.get_state_display().lower()}.\n\n"
        f"Open the settlement: {links.to_page('settlement', settlement.pk)}\n",
        but=None,
    )


def ask_for_csv_confirmation(*, bank_import: BankImport) -> None:
    """Mail the others of finance once about a CSV that one of them confirms."""
    write_all(
        key=f"finance:{bank_import.subject}",
        subject=f"Bank file to confirm: {bank_import.filename}",
        body=f"{bank_import.imported_by} imported {bank_import.filename}. Its lines can be "
        "assigned once another person of finance has compared them with the bank.\n\n"
        f"Compare and confirm the file: {links.to_page('bank-import', bank_import.pk)}\n",
        but=bank_import.imported_by,
    )


def warn_of_open_lines(*, bank_import: int, filename: str, count: int) -> None:
    """Mail finance once about a bank file with lines that nothing matched."""
    write_all(
        key=f"bank-file:{bank_import}",
        subject=f"{count} bank lines to assign: {filename}",
        body=f"{count} lines of {filename} match no invoice and no refund.\n\n"
        f"Assign the lines: {links.to_page('bank')}\n",
        but=None,
    )
