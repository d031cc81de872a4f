"""Credit plans: the audit cost is allocated to invoice lines, and the rest is credited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from engagements.billing.credit_notes import creditable
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common.money import quantize, tax_on
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.contracts.models import ContractVersion

ZERO = Decimal(0)


@dataclass(frozen=True)
class PlannedCredit:
    """A future credit note: net by line, with its totals, in the invoice's currency."""

    invoice: Invoice
    parts: Mapping[InvoiceLine, Decimal]
    net: Decimal
    tax: Decimal

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax


@dataclass(frozen=True)
class CreditPlan:
    """The credit notes that leave `audit_cost` (net) on the engagement's invoices.

    `audit_tax`: the tax on the audit cost, at the rates of its lines. `cancelled`: unpaid parts,
    credited with the proposal. `refunded`: paid parts, credited with the approval. `unbilled`:
    the part of the audit cost that is on no invoice yet (net).
    """

    audit_tax: Decimal
    unbilled: Decimal
    cancelled: tuple[PlannedCredit, ...]
    refunded: tuple[PlannedCredit, ...]


@dataclass
class _Line:
    """An invoice line during planning: its remaining amounts, and those it keeps."""

    line: InvoiceLine
    net: Decimal
    tax: Decimal
    kept_net: Decimal = ZERO
    kept_tax: Decimal = ZERO

    @property
    def to_credit(self) -> Decimal:
        """The amount to credit (gross)."""
        return self.net + self.tax - self.kept_net - self.kept_tax

    def credit(self, net: Decimal, currency: str) -> Decimal:
        """Credit `net` and return its tax, such that the remaining tax fits the remaining net."""
        remaining = self.net - net
        tax = self.tax
        if remaining == self.kept_net:
            tax -= self.kept_tax
        elif remaining > 0:
            tax -= min(tax_on(remaining, self.line.tax_rate_percent, currency), self.tax)
        self.net, self.tax = remaining, self.tax - tax
        return tax


def plan(*, contract: ContractVersion, audit_cost: Decimal) -> CreditPlan:
    """Plan the credit notes that keep `audit_cost` (net) of everything billed.

    It is kept on the audit's own line first, then on lines of paid invoices.
    """
    currency = contract.currency
    lines = _lines(contract)
    unbilled = _allocate(lines, audit_cost, currency)
    by_invoice: dict[int, list[_Line]] = {}
    for row in lines:
        by_invoice.setdefault(row.line.invoice_id, []).append(row)
    cancelled = [_cancelled(rows, currency) for rows in by_invoice.values()]
    refunded = [_refunded(rows, currency) for rows in by_invoice.values()]
    kept_tax = sum((row.kept_tax for row in lines), ZERO)
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
            invoice__charge__isnull=True,
            invoice__kind=Invoice.Kind.INVOICE,
            invoice__state=Invoice.State.ISSUED,
        )
        .select_related("invoice", "milestone")
        .prefetch_related("credit_lines__invoice", "invoice__payments")
    )
    lines = [_Line(row, *creditable(row)) for row in rows]
    return sorted((row for row in lines if row.net > 0), key=_allocation_order)


def _allocation_order(row: _Line) -> tuple[bool, bool, int, int]:
    is_audit = row.line.condition == ReleaseCondition.AUDIT_DELIVERED
    is_paid = bool(row.line.invoice.payments.all())
    return (not is_audit, not is_paid, row.line.invoice_id, row.line.position)


def _allocate(lines: Iterable[_Line], audit_cost: Decimal, currency: str) -> Decimal:
    """Allocate the audit cost to the lines, and return the remainder that fits on none."""
    remainder = audit_cost
    for row in lines:
        row.kept_net = min(row.net, remainder)
        row.kept_tax = row.tax
        if row.kept_net < row.net:
            row.kept_tax = min(tax_on(row.kept_net, row.line.tax_rate_percent, currency), row.tax)
        remainder -= row.kept_net
    return remainder


def _cancelled(rows: list[_Line], currency: str) -> PlannedCredit | None:
    """Credit the unpaid part, last lines first, until the invoice is not open."""
    invoice = rows[0].line.invoice
    paid = sum((payment.amount for payment in invoice.payments.all()), ZERO)
    open_amount = sum((row.net + row.tax for row in rows), ZERO) - paid
    parts = {}
    tax = ZERO
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
    """Credit the paid part that the lines do not keep."""
    parts = {row.line: row.net - row.kept_net for row in rows if row.net > row.kept_net}
    tax = sum((row.credit(parts[row.line], currency) for row in rows if row.line in parts), ZERO)
    return _planned(rows[0].line.invoice, parts, tax)


def _planned(
    invoice: Invoice, parts: Mapping[InvoiceLine, Decimal], tax: Decimal
) -> PlannedCredit | None:
    if not parts:
        return None
    return PlannedCredit(invoice, parts, net=sum(parts.values(), ZERO), tax=tax)
