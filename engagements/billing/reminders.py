"""Reminders of overdue invoices: three levels, each once, each a mail to the customer."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from engagements.billing import mails as invoice_mails
from engagements.billing.balances import open_invoices
from engagements.billing.models import Invoice, Reminder
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.event_log import events
from engagements.notifications import mails

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

# Days after the due day on which each level is due. Never two levels within a week: a worker
# that was down for a month does not send them all at once.
LEVELS = {1: 7, 2: 21, 3: 35}
DAYS_BETWEEN = 7
NAMED = {1: "Reminder", 2: "Second reminder", 3: "Last reminder"}
SAID = {
    1: "It may have escaped you",
    2: "We have reminded you of it before",
    3: "This is the last reminder before we talk about how to go on",
}


def due() -> list[Invoice]:
    """Open invoices for which a level has come that was not written yet."""
    today = timezone.localdate()
    late = open_invoices().filter(due_on__lte=today - timedelta(days=min(LEVELS.values())))
    return [row for row in late.prefetch_related("reminders") if _level(row, today)]


@transaction.atomic
def remind(*, invoice: Invoice) -> Reminder | None:
    """Write the reminder that is due, and its mails; None when none is.

    What the sweep saw is looked at again under the engagement's lock, so that a payment that
    came meanwhile is not asked for.
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
    assert row.due_on is not None  # its level was counted from that day
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
            subject=f"{NAMED[level]}: {row.reference}, due on {due_on}",
            body=_body(row, level, amount, due_on),
        )
    return reminder


def _level(invoice: Invoice, today: date) -> int | None:
    """The level that is due and not written; the next one only, and none within a week."""
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
    assert invoice.issued_on is not None  # only what is issued falls due
    counted = ""
    if invoice.offset:
        shown = format_money(invoice.offset, invoice.currency)
        counted = f" {shown} that came in for other invoices is counted."
    return (
        f"{SAID[level]}: of invoice {invoice.reference} of {in_words(invoice.issued_on)}, "
        f"{amount} was due on {due_on} and has not arrived.{counted}\n\n"
        f"Account: {account['holder']}, {account['iban']}\n"
        f"Please quote: {invoice.reference}\n\n"
        "If the payment is on its way, this mail has crossed it.\n\n"
        f"{invoice_mails.in_the_portal(invoice)}\n"
    )
