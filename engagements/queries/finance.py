"""What finance looks at: what is billed, open, at risk, and waiting to go back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from engagements.models import (
    ContractVersion,
    Engagement,
    Invoice,
    Milestone,
    Payment,
    Settlement,
    Stage,
)
from engagements.money import gross_of, tax_on
from engagements.queries import amounts
from engagements.queries.balances import issued_invoices
from engagements.queries.estimates import Estimate, latest_estimates

OPEN_SETTLEMENTS = (
    Settlement.State.PROPOSED,
    Settlement.State.APPROVED,
    Settlement.State.PAYING,
    Settlement.State.FAILED,
)

# What a settlement's hold and the day of its refund are read from.
WITH_DISPUTES = ("disputes", "contract_version__settlements__disputes")


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


@dataclass(frozen=True)
class AtRisk:
    """Payments received that might go back (or will, once missed), in `currency`, gross."""

    engagement: Engagement
    contract: ContractVersion
    currency: str
    received: Decimal
    could_go_back: Decimal
    estimate: Estimate | None


def live_settlements() -> QuerySet[Settlement]:
    """Settlements that count: all but those that were voided."""
    return Settlement.objects.exclude(state=Settlement.State.VOIDED)


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
    settling = Q(left_due__isnull=False) | Q(is_held=True)
    invoices = issued_invoices().filter(settling, engagement__in=engagements)
    found = list(invoices.values_list("pk", "asked", "is_held"))
    asked = {pk: amount for pk, amount, _ in found}
    held = {pk for pk, _, is_held in found if is_held}
    return [milestone_line(row, asked, held) for row in rows]


def milestones_to_bill() -> list[MilestoneLine]:
    """Released milestones, the longest released first."""
    released = Milestone.objects.filter(state=Milestone.State.RELEASED)
    return lines_of(released.order_by("released_at", "pk"))


def recent_payments(limit: int = 10) -> list[Payment]:
    """The payments recorded last, newest first."""
    return list(
        Payment.objects.select_related(
            "recorded_by",
            "invoice__engagement__customer",
            "moved_from__invoice",
            "moved_to__invoice",
        ).order_by("-recorded_at", "-pk")[:limit]
    )


def settlements_waiting() -> list[Settlement]:
    """Settlements that are neither paid nor voided, the longest waiting first."""
    return list(
        Settlement.objects.filter(state__in=OPEN_SETTLEMENTS)
        .select_related("contract_version__engagement__customer", "proposed_by", "approved_by")
        .prefetch_related(*WITH_DISPUTES)
        .order_by("proposed_at", "pk")
    )


def settlements_done(limit: int = 10) -> list[Settlement]:
    """Settlements that are paid or voided, the newest first."""
    return list(
        Settlement.objects.exclude(state__in=OPEN_SETTLEMENTS)
        .select_related("contract_version__engagement__customer")
        .order_by("-proposed_at", "-pk")[:limit]
    )


def money_at_risk() -> list[AtRisk]:
    """Contracts in force on which money was received that might go back, or will.

    The verdict is open, or the target was missed and the refund is not on its way: money in
    flight counts as gone. What was kept then is at risk again once a further one is proposed.
    """
    gone = Settlement.objects.filter(state__in=(Settlement.State.PAYING, Settlement.State.PAID))
    waiting = set(OPEN_SETTLEMENTS) - {Settlement.State.PAYING}
    further = {
        row.contract_version_id: row
        for row in Settlement.objects.filter(reason=Settlement.Reason.FURTHER, state__in=waiting)
    }
    is_first = Q(engagement__stage__in=(Stage.ACTIVE, Stage.MISSED)) & ~Q(
        pk__in=gone.values("contract_version")
    )
    contracts = (
        ContractVersion.objects.filter(
            is_first | Q(pk__in=further), state=ContractVersion.State.ACCEPTED
        )
        .select_related("engagement__customer")
        .order_by("engagement__reference")
    )
    received = dict(
        Payment.objects.filter(invoice__engagement__contracts__in=contracts)
        .order_by()
        .values_list("invoice__engagement__contracts")
        .annotate(total=Sum("amount"))
    )
    estimates = latest_estimates([contract.engagement_id for contract in contracts])
    return [
        _at_risk(contract, received[contract.pk], further.get(contract.pk), estimates)
        for contract in contracts
        if contract.pk in received
    ]


def _at_risk(
    contract: ContractVersion,
    received: Decimal,
    further: Settlement | None,
    estimates: dict[int, Estimate],
) -> AtRisk:
    kept = gross_of(contract.audit_cost, contract.tax_rate_percent, contract.currency)
    if further is not None:
        received -= further.refunded_before
        kept = further.audit_cost + further.audit_tax
    return AtRisk(
        engagement=contract.engagement,
        contract=contract,
        currency=contract.currency,
        received=received,
        could_go_back=max(received - kept, Decimal(0)),
        estimate=estimates.get(contract.engagement_id),
    )


def totals_by_currency(lines: Iterable[tuple[str, Decimal]]) -> list[tuple[str, Decimal]]:
    """Sums of (currency, amount) pairs, one a currency, by code. Currencies are never added up."""
    totals: dict[str, Decimal] = {}
    for currency, amount in lines:
        totals[currency] = totals.get(currency, Decimal(0)) + amount
    return sorted(totals.items())


def payments_of(contract: ContractVersion) -> list[Payment]:
    """Every payment received in a contract's engagement, in the order of their days."""
    return list(
        Payment.objects.filter(invoice__engagement=contract.engagement_id)
        .select_related("invoice", "recorded_by", "moved_from__invoice", "moved_to__invoice")
        .order_by("received_on", "pk")
    )
