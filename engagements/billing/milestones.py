"""TODO docstring."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet

from engagements.billing import amounts
from engagements.billing.amounts import WITH_INVOICES, gross, received
from engagements.billing.balances import issued_invoices
from engagements.billing.models import Invoice
from engagements.common.money import tax_on
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement


def void_unearned_milestones(engagement: Engagement) -> list[Milestone]:
    """Void what the customer will not pay any more: every milestone not paid in full.

    What was billed keeps its dates and its payments, which still count.
    """
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


@dataclass(frozen=True)
class MilestoneLine:
    """A milestone in money: all amounts in `currency`, gross unless they say otherwise.

    `open_amount` is what a bill of it still waits for: nothing before it is billed, and no more
    than its invoice asks for once a settlement left something due, or nothing. `is_held` says that
    it waits for a settlement that is proposed, which will say what is left.
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
        """Billed, and everything arrived."""
        return self.milestone.state == Milestone.State.BILLED and self.paid >= self.gross


def milestone_line(
    milestone: Milestone, asked: dict[int, Decimal], held: Collection[int]
) -> MilestoneLine:
    """One milestone (read with `with_money`) in money.

    `asked` is what invoices still ask for after a settlement, by key; what is open of this line
    is taken off it. `held` are the keys of those that wait for a settlement.
    """
    contract = milestone.contract_version
    line = amounts.invoice_line(milestone)
    rate, currency = contract.tax_rate_percent, contract.currency
    tax = line.tax if line else tax_on(milestone.amount, rate, currency)
    waits = unpaid = amounts.outstanding(milestone)
    if line is not None and line.invoice_id in asked:
        waits = min(waits, asked[line.invoice_id])
        asked[line.invoice_id] -= waits
    return MilestoneLine(
        milestone=milestone,
        invoice=line.invoice if line else None,
        currency=contract.currency,
        net=milestone.amount,
        tax=tax,
        gross=milestone.amount + tax,
        paid=amounts.received(milestone),
        open_amount=waits,
        is_held=unpaid > 0 and line is not None and line.invoice_id in held,
    )


def milestone_lines(engagement: Engagement) -> list[MilestoneLine]:
    """What an engagement's sealed contracts ask for, in money, in their order.

    An amendment leaves what was released before with the version that released it; what fell
    away with that version is not listed beside what took its place.
    """
    milestones = Milestone.objects.filter(
        contract_version__engagement=engagement,
        contract_version__state__in=(
            ContractVersion.State.ACCEPTED,
            ContractVersion.State.SUPERSEDED,
        ),
    ).exclude(contract_version__state=ContractVersion.State.SUPERSEDED, state=Milestone.State.VOID)
    return lines_of(milestones.order_by("contract_version__number", "position"))


def with_money(milestones: QuerySet[Milestone]) -> QuerySet[Milestone]:
    """Milestones with what their figures and their customer are read from."""
    return milestones.select_related("contract_version__engagement__customer").prefetch_related(
        *amounts.WITH_INVOICES
    )


def lines_of(milestones: QuerySet[Milestone]) -> list[MilestoneLine]:
    """These milestones in money."""
    rows = list(with_money(milestones))
    engagements = {row.contract_version.engagement_id for row in rows}
    settling = Q(due_after_settlement__isnull=False) | Q(is_held=True)
    invoices = issued_invoices().filter(settling, engagement__in=engagements)
    found = list(invoices.values_list("pk", "amount_due", "is_held"))
    asked = {pk: amount for pk, amount, _ in found}
    held = {pk for pk, _, is_held in found if is_held}
    return [milestone_line(row, asked, held) for row in rows]


def milestones_to_bill() -> list[MilestoneLine]:
    """Released milestones, the longest released first."""
    released = Milestone.objects.filter(state=Milestone.State.RELEASED)
    return lines_of(released.order_by("released_at", "pk"))
