"""Payment reminders for overdue invoices: three levels, each mailed once."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from engagements.billing import mails as invoice_mails
from engagements.billing.balances import open_invoices
from engagements.billing.models import Invoice
from engagements.billing.reminder_models import Reminder
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.event_log import events
from engagements.notifications import mails

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

# Days after the due date. At least a week apart, so that a worker that was down for a month
# does not send all levels at once.
LEVELS = {1: 7, 2: 21, 3: 35}
DAYS_BETWEEN = 7
TITLES = {1: "Reminder", 2: "Second reminder", 3: "Final reminder"}
OPENINGS = {
    1: "This may have escaped your notice.",
    2: "We have reminded you of this invoice before.",
    3: "This is our final reminder. Please contact us if you cannot pay.",
}


def due() -> list[Invoice]:
    """Open invoices whose next reminder is due."""
    today = timezone.localdate()
    late = open_invoices().filter(due_on__lte=today - timedelta(days=min(LEVELS.values())))
    return [row for row in late.prefetch_related("reminders") if _level(row, today)]


@transaction.atomic
def remind(*, invoice: Invoice) -> Reminder | None:
    """Write the reminder that is due and its mails, or return None.

    Checks again under the engagement's lock, in case a payment has arrived.
    """
    engagement = stages.locked(invoice.engagement_id)
    row = open_invoices().filter(pk=invoice.pk).first()
    level = _level(row, timezone.localdate()) if row else None
    if row is None or level is None:
        return None
    reminder = Reminder(
        invoice=row, level=level, open_amount=row.amount_due, created_at=timezone.now()
    )
    validation.save_validated(reminder)
    amount = format_money(row.amount_due, row.currency)
    assert row.due_on is not None  # it has a level
    due_on = in_words(row.due_on)
    events.record(
        engagement=engagement,
        verb="invoice.reminded",
        summary=f"Reminder {level} of {row.reference}: {amount} was due on {due_on}.",
        actor=None,
        changes={"invoice": row.pk, "level": level, "open": str(row.amount_due)},
        for_customer=True,
    )
    for recipient in invoice_mails.recipients_of(row.customer):
        mails.write(
            key=f"reminder:{row.pk}:{level}",
            engagement=engagement,
            recipient=recipient,
            subject=f"{TITLES[level]}: {row.reference}, due on {due_on}",
            body=_body(row, level, amount, due_on),
        )
    return reminder


def _level(invoice: Invoice, today: date) -> int | None:
    """The next reminder level, if it is due."""
    last = max(invoice.reminders.all(), key=lambda reminder: reminder.level, default=None)
    level = last.level + 1 if last else 1
    if level not in LEVELS or invoice.due_on is None:
        return None
    if (today - invoice.due_on).days < LEVELS[level]:
        return None
    if last and (today - timezone.localtime(last.created_at).date()).days < DAYS_BETWEEN:
        return None
    return level


def _body(invoice: InvoiceWithBalance, level: int, amount: str, due_on: str) -> str:
    account = settings.BANK_ACCOUNT
    assert invoice.issued_on is not None  # open invoices are issued
    offset = ""
    if invoice.offset:
        shown = format_money(invoice.offset, invoice.currency)
        offset = f" Payments of {shown} for other invoices are already deducted."
    return (
        f"{OPENINGS[level]} {amount} of invoice {invoice.reference} of "
        f"{in_words(invoice.issued_on)} was due on {due_on}.{offset}\n\n"
        f"Account: {account['holder']}, {account['iban']}\n"
        f"Payment reference: {invoice.reference}\n\n"
        "If you have already paid, please disregard this reminder.\n\n"
        f"{invoice_mails.portal_link(invoice)}\n"
    )
