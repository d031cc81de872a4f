"""What issuing an invoice and issuing a credit note share: number, day, frozen facts, the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from engagements.billing import numbering, parties
from engagements.billing.models import Invoice, InvoiceLine
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


def read(invoice: Invoice, engagement: Engagement) -> Invoice:
    """The invoice as it is under its engagement's lock."""
    row = (
        Invoice.objects.select_related("contract_version", "customer", "corrects")
        .prefetch_related("lines__milestone__contract_version")
        .filter(pk=invoice.pk)
        .first()
    )
    if row is None:
        raise ApplicationError("This draft was discarded.", code="billing.todo")
    row.engagement = engagement
    return row


def number(row: Invoice, lines: Sequence[InvoiceLine], by: User | None) -> None:
    """Give a draft its number and day, copy in what it says, and close it for good."""
    row.series = SERIES[Kind(row.kind)]
    row.issued_on, row.number = numbering.take(series=row.series)
    row.year = row.issued_on.year
    row.reference = numbering.reference(series=row.series, year=row.year, number=row.number)
    row.issued_at, row.issued_by = timezone.now(), by
    if row.kind == Kind.INVOICE:
        row.due_on = row.issued_on + timedelta(days=row.contract_version.payment_days)
    row.state = State.ISSUED
    row.frozen = parties.compose(row, lines)
    if row.kind == Kind.INVOICE:
        _require_fonts(row)
    validation.save_validated(row)


def _require_fonts(row: Invoice) -> None:
    # Not for credit notes: they name whom the invoice named, and settlements wait for no font.
    from engagements.documents import fonts

    blank = fonts.missing(json.dumps(row.frozen, ensure_ascii=False, default=str))
    if blank:
        raise ApplicationError(fonts.missing_text(blank), code="billing.todo")


def tell(row: Invoice, engagement: Engagement, by: User | None) -> None:
    """Into the log and to the workers, which make the PDF once this is committed."""
    amount = format_money(row.gross, row.currency)
    if row.corrects:
        summary = (
            f"Credit note {row.reference}: {amount} with tax off {row.corrects.reference}. "
            f"{row.reason}"
        )
    else:
        assert row.due_on is not None  # an issued invoice falls due
        summary = f"Invoice {row.reference}: {amount} with tax, due on {in_words(row.due_on)}."
    events.record(
        engagement=engagement,
        verb=f"{row.kind}.issued",
        summary=summary,
        actor=by,
        changes={"invoice": row.pk, "reference": row.reference, "gross": str(row.gross)},
        for_customer=True,
    )
    enqueue("issue_document", row.kind, f"invoice:{row.pk}")
