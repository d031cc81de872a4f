"""Which lines of an engagement's invoices keep the audit's cost, and what is credited of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from engagements.billing.credit_notes import creditable
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common.money import quantize, tax_on
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.contracts.models import ContractVersion

NOTHING = Decimal(0)


@dataclass(frozen=True)
class PlannedCredit:
    """A credit note to come: net by line, and what it comes to, in the invoice's currency."""

    invoice: Invoice
    parts: Mapping[InvoiceLine, Decimal]
    net: Decimal
    tax: Decimal

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax


@dataclass(frozen=True)
class CreditPlan:
    """What happens to the invoices when all but `audit_cost` (net) is taken back.

    `audit_tax` is the tax on it as its lines have it. `cancelled` are the unpaid parts, credited
    when the settlement is proposed; `refunded` the paid parts, credited when it is approved.
    `unbilled` is what of the audit's cost stands on no invoice yet: net.
    """

    audit_tax: Decimal
    unbilled: Decimal
    cancelled: tuple[PlannedCredit, ...]
    refunded: tuple[PlannedCredit, ...]


@dataclass
class _Line:
    """A line on its way: what it is after what was planned so far, and what it will keep."""

    line: InvoiceLine
    net: Decimal
    tax: Decimal
    kept_net: Decimal = NOTHING
    kept_tax: Decimal = NOTHING

    @property
    def to_credit(self) -> Decimal:
        """What goes back of it, gross."""
        return self.net + self.tax - self.kept_net - self.kept_tax

    def credit(self, net: Decimal, currency: str) -> Decimal:
        """Take `net` off; answers the tax that goes with it, so that the rest keeps its own."""
        rest = self.net - net
        tax = self.tax
        if rest == self.kept_net:
            tax -= self.kept_tax
        elif rest > 0:
            tax -= min(tax_on(rest, self.line.tax_rate_percent, currency), self.tax)
        self.net, self.tax = rest, self.tax - tax
        return tax


def plan(*, contract: ContractVersion, audit_cost: Decimal) -> CreditPlan:
    """What is credited when `audit_cost` (net) is kept of everything that was billed.

    The audit's own line keeps it first, then lines of invoices that money came in for.
    """
    currency = contract.currency
    lines = _lines(contract)
    unbilled = _keep(lines, audit_cost, currency)
    by_invoice: dict[int, list[_Line]] = {}
    for row in lines:
        by_invoice.setdefault(row.line.invoice_id, []).append(row)
    cancelled = [_cancelled(rows, currency) for rows in by_invoice.values()]
    refunded = [_refunded(rows, currency) for rows in by_invoice.values()]
    kept_tax = sum((row.kept_tax for row in lines), NOTHING)
    return CreditPlan(
        audit_tax=kept_tax + tax_on(unbilled, contract.tax_rate_percent, currency),
        unbilled=unbilled,
        cancelled=tuple(credit for credit in cancelled if credit),
        refunded=tuple(credit for credit in refunded if credit),
    )


def _lines(contract: ContractVersion) -> list[_Line]:
    rows = (
        InvoiceLine.objects.filter(
            invoice__engagement=contract.engagement_id,
            invoice__kind=Invoice.Kind.INVOICE,
            invoice__state=Invoice.State.ISSUED,
        )
        .select_related("invoice", "milestone")
        .prefetch_related("credit_lines__invoice", "invoice__payments")
    )
    lines = [_Line(row, *creditable(row)) for row in rows]
    return sorted((row for row in lines if row.net > 0), key=_keeps_before)


def _keeps_before(row: _Line) -> tuple[bool, bool, int, int]:
    is_audit = row.line.milestone.condition == ReleaseCondition.AUDIT_DELIVERED
    is_paid = bool(row.line.invoice.payments.all())
    return (not is_audit, not is_paid, row.line.invoice_id, row.line.position)


def _keep(lines: Iterable[_Line], audit_cost: Decimal, currency: str) -> Decimal:
    """Say what each line keeps of the audit's cost; answers what no line had room for."""
    left = audit_cost
    for row in lines:
        row.kept_net = min(row.net, left)
        row.kept_tax = row.tax
        if row.kept_net < row.net:
            row.kept_tax = min(tax_on(row.kept_net, row.line.tax_rate_percent, currency), row.tax)
        left -= row.kept_net
    return left


def _cancelled(rows: list[_Line], currency: str) -> PlannedCredit | None:
    """What nobody paid and nobody will: off the lines that keep least, until nothing is open."""
    invoice = rows[0].line.invoice
    paid = sum((payment.amount for payment in invoice.payments.all()), NOTHING)
    open_amount = sum((row.net + row.tax for row in rows), NOTHING) - paid
    parts = {}
    tax = NOTHING
    for row in reversed(rows):
        gross = min(row.to_credit, open_amount)
        if gross <= 0:
            continue
        net = row.net - row.kept_net
        if gross < row.to_credit:
            net = quantize(gross * net / row.to_credit, currency)
        if net > 0:
            open_amount -= gross
            parts[row.line] = net
            tax += row.credit(net, currency)
    return _planned(invoice, parts, tax)


def _refunded(rows: list[_Line], currency: str) -> PlannedCredit | None:
    """What was paid and goes back: all that the lines do not keep."""
    parts = {row.line: row.net - row.kept_net for row in rows if row.net > row.kept_net}
    tax = sum((row.credit(parts[row.line], currency) for row in rows if row.line in parts), NOTHING)
    return _planned(rows[0].line.invoice, parts, tax)


def _planned(
    invoice: Invoice, parts: Mapping[InvoiceLine, Decimal], tax: Decimal
) -> PlannedCredit | None:
    if not parts:
        return None
    return PlannedCredit(invoice, parts, net=sum(parts.values(), NOTHING), tax=tax)
