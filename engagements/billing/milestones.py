"""Milestones in money: amount, tax, payments and open amount of each.

Payments are received for invoices, and an invoice may have several milestones: payments count
towards its lines in order. The functions read `milestone.contract_version` and the relations in
`WITH_INVOICES`; prefetch those for a list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet

from engagements.billing.balances import issued_invoices
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common.money import gross_of
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.taxes import taxes_of
from engagements.engagement.models import Engagement

WITH_INVOICES = (
    "invoice_lines__invoice__payments",
    "invoice_lines__invoice__lines__credit_lines__invoice",
)
NOTHING = Decimal(0)


@dataclass(frozen=True)
class MilestoneLine:
    """A milestone in money: amounts in `currency`, gross except `net`.

    `open_amount` is the unpaid amount of a billed milestone, capped by its invoice's amount due
    after a settlement. `is_held`: it waits for a proposed settlement.
    """

    milestone: Milestone
    invoice: Invoice | None
    currency: str
    net: Decimal
    tax: Decimal
    gross: Decimal
    paid: Decimal
    open_amount: Decimal
    is_held: bool

    @property
    def is_paid(self) -> bool:
        """Whether it is billed and fully paid."""
        return self.milestone.state == Milestone.State.BILLED and self.paid >= self.gross


def milestone_lines(*engagements: Engagement) -> list[MilestoneLine]:
    """The milestones of the engagements' accepted contract versions in money.

    Milestones released before an amendment stay with the version that released them; void ones
    of superseded versions are left out.
    """
    milestones = Milestone.objects.filter(
        contract_version__engagement__in=engagements,
        contract_version__state__in=(
            ContractVersion.State.ACCEPTED,
            ContractVersion.State.SUPERSEDED,
        ),
    ).exclude(contract_version__state=ContractVersion.State.SUPERSEDED, state=Milestone.State.VOID)
    return lines_of(milestones.order_by("contract_version__number", "position"))


def milestones_to_bill() -> QuerySet[Milestone]:
    """Released milestones, the longest released first."""
    released = Milestone.objects.filter(state=Milestone.State.RELEASED)
    return released.order_by("released_at", "pk")


def lines_of(milestones: QuerySet[Milestone]) -> list[MilestoneLine]:
    """Read milestones in money."""
    rows = list(
        milestones.select_related("contract_version__engagement__customer").prefetch_related(
            *WITH_INVOICES, "contract_version__milestones"
        )
    )
    engagements = {row.contract_version.engagement_id for row in rows}
    in_settlement = Q(due_after_settlement__isnull=False) | Q(is_held=True)
    invoices = issued_invoices().filter(in_settlement, engagement__in=engagements)
    found = list(invoices.values_list("pk", "amount_due", "is_held"))
    amounts_due = {pk: amount for pk, amount, _ in found}
    held = {pk for pk, _, is_held in found if is_held}
    unbilled = {row.contract_version for row in rows if invoice_line(row) is None}
    taxes = {key: tax for contract in unbilled for key, tax in _own_taxes(contract).items()}
    return [_line(row, amounts_due, held, taxes) for row in rows]


def _own_taxes(contract: ContractVersion) -> dict[int, Decimal]:
    own = {milestone.pk for milestone in contract.milestones.all()}
    return {key: tax for key, tax in taxes_of(contract).items() if key in own}


def _line(
    milestone: Milestone,
    amounts_due: dict[int, Decimal],
    held: Collection[int],
    taxes: dict[int, Decimal],
) -> MilestoneLine:
    """One milestone in money; deducts its open amount from its invoice's in `amounts_due`."""
    contract = milestone.contract_version
    line = invoice_line(milestone)
    currency = contract.currency
    tax = line.tax if line else taxes[milestone.pk]
    open_amount = unpaid = outstanding(milestone)
    if line is not None and line.invoice_id in amounts_due:
        open_amount = min(unpaid, amounts_due[line.invoice_id])
        amounts_due[line.invoice_id] -= open_amount
    return MilestoneLine(
        milestone=milestone,
        invoice=line.invoice if line else None,
        currency=currency,
        net=milestone.amount,
        tax=tax,
        gross=milestone.amount + tax,
        paid=received(milestone),
        open_amount=open_amount,
        is_held=unpaid > 0 and line is not None and line.invoice_id in held,
    )


def void_unearned_milestones(engagement: Engagement) -> list[Milestone]:
    """Void every milestone that is not fully paid; billed ones keep their dates and payments."""
    milestones = (
        Milestone.objects.filter(
            contract_version__engagement=engagement, contract_version__sealed_at__isnull=False
        )
        .exclude(state=Milestone.State.VOID)
        .select_related("contract_version")
        .prefetch_related(*WITH_INVOICES)
    )
    unearned = [row for row in milestones if received(row) < gross(row)]
    for milestone in unearned:
        milestone.state = Milestone.State.VOID
        milestone.save(update_fields=["state"])
    return unearned


def gross(milestone: Milestone) -> Decimal:
    """Amount including tax, as invoiced or else by the contract's rate."""
    line = invoice_line(milestone)
    if line is not None:
        return line.net + line.tax
    contract = milestone.contract_version
    return gross_of(milestone.amount, contract.tax_rate_percent, contract.currency)


def received(milestone: Milestone) -> Decimal:
    """Gross payments received for the milestone."""
    line = invoice_line(milestone)
    return received_by_line(line.invoice)[line.pk] if line else NOTHING


def outstanding(milestone: Milestone) -> Decimal:
    """Gross unpaid amount of a billed milestone; zero for any other."""
    line = invoice_line(milestone)
    if milestone.state != Milestone.State.BILLED or line is None:
        return NOTHING
    return max(owed(line) - received(milestone), NOTHING)


def paid_milestones(milestones: Iterable[Milestone]) -> set[int]:
    """The keys of the milestones that are billed and fully paid."""
    billed = (each for each in milestones if each.state == Milestone.State.BILLED)
    return {each.pk for each in billed if not outstanding(each)}


def invoice_line(milestone: Milestone) -> InvoiceLine | None:
    """The milestone's line on its latest issued invoice."""
    lines = [
        line
        for line in milestone.invoice_lines.all()
        if line.corrects_id is None and line.invoice.is_issued
    ]
    return max(lines, key=lambda line: line.pk, default=None)


def owed(line: InvoiceLine) -> Decimal:
    """Gross amount of an invoice line less its credits."""
    credited = (
        credit.net + credit.tax for credit in line.credit_lines.all() if credit.invoice.is_issued
    )
    return line.net + line.tax - sum(credited, NOTHING)


def received_by_line(invoice: Invoice) -> dict[int, Decimal]:
    """Allocate an invoice's payments and write-offs to its lines, by their keys.

    In order, first up to the amount owed, then up to the amount before credits; any excess goes
    to the last line.
    """
    lines = sorted(invoice.lines.all(), key=lambda line: line.position)
    lost = (loss.amount for loss in invoice.write_offs.all() if loss.state == "posted")
    rest = sum((payment.amount for payment in invoice.payments.all()), sum(lost, NOTHING))
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
