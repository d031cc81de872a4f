"""Prepayment invoices, and the final invoice that lists and deducts them.

The invoice of a charge is neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from engagements.billing.models import Invoice, InvoiceLine
from engagements.common import money
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage

# Milestones that are released before anything is delivered.
BEFORE_DELIVERY = (ReleaseCondition.SIGNED, ReleaseCondition.DATE)
AGREED = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
INVOICE, PREPAYMENT, FINAL = "invoice", "prepayment", "final"
NOTHING = Decimal(0)


def facts_of(invoice: Invoice, lines: Sequence[InvoiceLine]) -> dict[str, Any]:
    """The facts `type`, `delivered` and `deducted` of an invoice (see `invoice_facts`)."""
    kind = _type(invoice, lines)
    earlier = list(_earlier(invoice)) if kind == FINAL else []
    if kind == FINAL and not earlier:
        kind = INVOICE
    currency = invoice.currency
    return {
        "type": kind,
        "delivered": [
            {"title": line.title, "net": money.plain(net, currency)}
            for _, parts in earlier
            for line, net, _ in parts
        ],
        "deducted": [_deduction(row, parts, currency) for row, parts in earlier],
    }


def _type(invoice: Invoice, lines: Sequence[InvoiceLine]) -> str:
    if invoice.kind != Invoice.Kind.INVOICE or invoice.charge_id:
        return INVOICE
    if all(line.condition in BEFORE_DELIVERY for line in lines):
        return PREPAYMENT
    if invoice.engagement.stage not in (Stage.MET, Stage.CLOSED):
        return INVOICE
    others = Milestone.objects.filter(
        contract_version__engagement=invoice.engagement_id,
        contract_version__state__in=AGREED,
        state__in=(Milestone.State.PENDING, Milestone.State.RELEASED),
    ).exclude(pk__in=[line.milestone_id for line in lines])
    return INVOICE if others.exists() else FINAL


Parts = list[tuple[InvoiceLine, Decimal, Decimal]]


def _earlier(invoice: Invoice) -> Iterator[tuple[Invoice, Parts]]:
    """Earlier invoices with each line's net and tax that is not credited."""
    rows = Invoice.objects.filter(
        engagement=invoice.engagement_id,
        charge__isnull=True,
        kind=Invoice.Kind.INVOICE,
        state=Invoice.State.ISSUED,
    ).exclude(pk=invoice.pk)
    for row in rows.prefetch_related("lines__credit_lines__invoice").order_by("issued_at", "pk"):
        parts = [(line, *_left(line)) for line in row.lines.all()]
        parts = [part for part in parts if part[1] > 0]
        if parts:
            yield row, parts


def _left(line: InvoiceLine) -> tuple[Decimal, Decimal]:
    credits = [credit for credit in line.credit_lines.all() if credit.invoice.is_issued]
    net = sum((credit.net for credit in credits), NOTHING)
    return line.net - net, line.tax - sum((credit.tax for credit in credits), NOTHING)


def _deduction(row: Invoice, parts: Parts, currency: str) -> dict[str, str]:
    assert row.issued_on is not None  # issued
    net = sum((part[1] for part in parts), NOTHING)
    tax = sum((part[2] for part in parts), NOTHING)
    return {
        "reference": row.reference,
        "issued_on": row.issued_on.isoformat(),
        "net": money.plain(net, currency),
        "tax": money.plain(tax, currency),
        "gross": money.plain(net + tax, currency),
    }
