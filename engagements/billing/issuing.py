"""Number, date and freeze invoices and credit notes, log them and enqueue their PDF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta

from django.utils import timezone

from engagements.billing import invoice_facts
from engagements.billing.models import Counter, Invoice, InvoiceLine
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.queue import enqueue
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import User

Kind, State = Invoice.Kind, Invoice.State
SERIES = {Kind.INVOICE: "INV", Kind.CREDIT_NOTE: "CN"}


def reload(invoice: Invoice, engagement: Engagement) -> Invoice:
    """Reload an invoice after its engagement was locked."""
    row = (
        Invoice.objects.select_related(
            "contract_version", "audit_order", "charge", "customer", "corrects"
        )
        .prefetch_related("lines__milestone__contract_version")
        .filter(pk=invoice.pk)
        .first()
    )
    if row is None:
        raise ApplicationError("This draft was discarded.", code="invoice.discarded")
    row.engagement = engagement
    return row


def number(row: Invoice, lines: Sequence[InvoiceLine], by: User | None) -> None:
    """Number and date a draft and freeze its facts; it cannot change afterwards."""
    row.series = SERIES[Kind(row.kind)]
    row.issued_on, row.number = next_number(series=row.series)
    row.year = row.issued_on.year
    row.reference = f"{row.series}-{row.year}-{row.number:04d}"
    row.issued_at, row.issued_by = timezone.now(), by
    if row.kind == Kind.INVOICE:
        row.due_on = row.issued_on + timedelta(days=row.terms.payment_days)
    row.state = State.ISSUED
    row.frozen = invoice_facts.compose(row, lines)
    if row.kind == Kind.INVOICE:
        _require_fonts(row)
    validation.save_validated(row)


def _require_fonts(row: Invoice) -> None:
    # Not for credit notes: the invoice printed their names, and no settlement may fail here.
    from engagements.documents import fonts

    blank = fonts.missing(json.dumps(row.frozen, ensure_ascii=False, default=str))
    if blank:
        raise ApplicationError(fonts.missing_text(blank), code="invoice.unprintable_characters")


def record_issued(row: Invoice, engagement: Engagement, by: User | None) -> None:
    """Log an issued invoice or credit note and enqueue its PDF."""
    amount = format_money(row.gross, row.currency)
    if row.corrects:
        summary = (
            f"Credit note {row.reference}: {amount} including tax, corrects "
            f"{row.corrects.reference}. {row.reason}"
        )
    else:
        assert row.due_on is not None  # every issued invoice has a due date
        summary = f"Invoice {row.reference}: {amount} including tax, due {in_words(row.due_on)}."
    events.record(
        engagement=engagement,
        verb=f"{row.kind}.issued",
        summary=summary,
        actor=by,
        changes={"invoice": row.pk, "reference": row.reference, "gross": str(row.gross)},
        for_customer=True,
    )
    enqueue("issue_document", row.kind, f"invoice:{row.pk}")


def discard(row: Invoice, engagement: Engagement, by: User | None) -> None:
    """Delete a draft; one of a credit note is logged, since it waited for another person."""
    if row.is_credit_note:
        shown = format_money(row.gross, row.currency)
        events.record(
            engagement=engagement,
            verb="credit_note.discarded",
            summary=f"Credit note of {shown} including tax on {row.corrects}: discarded.",
            actor=by,
            changes={"credit_note": row.pk, "gross": str(row.gross)},
        )
    row.delete()


def next_number(*, series: str) -> tuple[date, int]:
    """Take today's date and the next number of `series` in today's year.

    Numbers have no gaps: the counter row stays locked until the transaction ends. The date is
    read under that lock, so that numbers follow dates across midnight.
    """
    while True:
        year = timezone.localdate().year
        counter = _locked_counter(series, year)
        today = timezone.localdate()
        if today.year == year:
            break
    counter.last += 1
    counter.save(update_fields=["last"])
    return today, counter.last


def _locked_counter(series: str, year: int) -> Counter:
    counters = Counter.objects.select_for_update().filter(series=series, year=year)
    counter = counters.first()
    if counter is None:
        # Two first invoices of a year: one creates the row, both lock it.
        Counter.objects.bulk_create([Counter(series=series, year=year)], ignore_conflicts=True)
        counter = counters.get()
    return counter
