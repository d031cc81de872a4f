"""Figures of one milestone, gross: what it comes to, what arrived, what is open.

Money arrives for invoices, and an invoice may collect several milestones: what was received is
counted towards its lines in their order. They read `milestone.contract_version` and, below
`milestone.invoice_lines`, what `WITH_INVOICES` names, so a list of milestones wants that
prefetched.
"""

from __future__ import annotations

from decimal import Decimal

from engagements.billing.models import Invoice, InvoiceLine
from engagements.common.money import gross_of
from engagements.contracts.milestones.models import Milestone

WITH_INVOICES = (
    "invoice_lines__invoice__payments",
    "invoice_lines__invoice__lines__credit_lines__invoice",
)
NOTHING = Decimal(0)


def gross(milestone: Milestone) -> Decimal:
    """The milestone's amount with its tax: as invoiced, else as its contract would have it."""
    line = invoice_line(milestone)
    if line is not None:
        return line.net + line.tax
    contract = milestone.contract_version
    return gross_of(milestone.amount, contract.tax_rate_percent, contract.currency)


def received(milestone: Milestone) -> Decimal:
    """What was paid for the milestone so far, gross."""
    line = invoice_line(milestone)
    return received_by_line(line.invoice)[line.pk] if line else NOTHING


def outstanding(milestone: Milestone) -> Decimal:
    """What is still to be paid for a billed milestone, gross; nothing for any other."""
    line = invoice_line(milestone)
    if milestone.state != Milestone.State.BILLED or line is None:
        return NOTHING
    return max(owed(line) - received(milestone), NOTHING)


def invoice_line(milestone: Milestone) -> InvoiceLine | None:
    """Where the milestone stands on an issued invoice; the newest where it was billed anew."""
    lines = [
        line
        for line in milestone.invoice_lines.all()
        if line.corrects_id is None and line.invoice.is_issued
    ]
    return max(lines, key=lambda line: line.pk, default=None)


def owed(line: InvoiceLine) -> Decimal:
    """A line of an invoice with its tax, less what was credited of it."""
    credited = (
        credit.net + credit.tax for credit in line.credit_lines.all() if credit.invoice.is_issued
    )
    return line.net + line.tax - sum(credited, NOTHING)


def received_by_line(invoice: Invoice) -> dict[int, Decimal]:
    """What arrived for an invoice, counted towards its lines in their order, by their keys.

    First towards what is owed, then towards what was credited after it had been paid; what is
    over counts towards the last line.
    """
    lines = sorted(invoice.lines.all(), key=lambda line: line.position)
    rest = sum((payment.amount for payment in invoice.payments.all()), NOTHING)
    parts = dict.fromkeys((line.pk for line in lines), NOTHING)
    for limit in (owed, _with_tax):
        for line in lines:
            part = min(rest, limit(line) - parts[line.pk])
            parts[line.pk] += part
            rest -= part
    if lines:
        parts[lines[-1].pk] += rest
    return parts


def _with_tax(line: InvoiceLine) -> Decimal:
    return line.net + line.tax
