"""What finance asks: what is to be billed, what is open, what might go back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Prefetch, QuerySet, Sum

from engagements.models import ContractVersion, Engagement, Milestone, Settlement, Stage
from engagements.money import gross_of, quantize
from engagements.queries.amounts import outstanding

# While money is in flight it counts as gone, so it is no longer at risk.
_GONE = frozenset({Settlement.State.PAYING, Settlement.State.PAID})


@dataclass(frozen=True)
class AtRisk:
    """Money that was received and might go back, gross, in `currency`.

    `kept` is the part of what was received that stays even then: the delivered audit's.
    """

    engagement: Engagement
    currency: str
    received: Decimal
    kept: Decimal
    at_risk: Decimal


def money_at_risk() -> list[AtRisk]:
    """What might go back, by engagement: fees received whose target is not met, or is missed
    and not settled yet. The largest first within a currency."""
    contracts = (
        ContractVersion.objects.filter(
            state=ContractVersion.State.ACCEPTED,
            engagement__stage__in=[Stage.ACTIVE, Stage.MISSED],
        )
        .annotate(received=Sum("milestones__payments__amount"))
        .filter(received__gt=0)
        .defer("canonical")
        .select_related("engagement__customer", "engagement__audit")
        .prefetch_related(
            Prefetch("settlements", Settlement.objects.exclude(state=Settlement.State.VOIDED))
        )
    )
    rows = [
        _at_risk(contract)
        for contract in contracts
        if not any(settlement.state in _GONE for settlement in contract.settlements.all())
    ]
    return sorted(rows, key=lambda row: (row.currency, -row.at_risk, row.engagement.reference))


def _at_risk(contract: ContractVersion) -> AtRisk:
    currency = contract.currency
    received = quantize(contract.received, currency)
    audit = quantize(Decimal(0), currency)
    if contract.engagement.audit.delivered_at:
        audit = gross_of(contract.audit_cost, contract.tax_rate_percent, currency)
    kept = min(audit, received)
    return AtRisk(
        engagement=contract.engagement,
        currency=currency,
        received=received,
        kept=kept,
        at_risk=received - kept,
    )


def totals(rows: Iterable[AtRisk]) -> dict[str, Decimal]:
    """What is at risk by currency. Amounts of different currencies are never added up."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        sums[row.currency] = sums.get(row.currency, Decimal(0)) + row.at_risk
    return sums


def settlements_waiting() -> QuerySet[Settlement]:
    """Settlements that somebody of finance has to move on, the oldest first."""
    return (
        Settlement.objects.exclude(state__in=[Settlement.State.PAID, Settlement.State.VOIDED])
        .select_related(
            "contract_version__engagement__customer", "proposed_by", "approved_by", "paid_by"
        )
        .defer("contract_version__canonical")
        .order_by("proposed_at", "pk")
    )


def milestones_to_bill() -> QuerySet[Milestone]:
    """Released milestones, the longest released first."""
    return _milestones(Milestone.State.RELEASED).order_by("released_at", "pk")


def milestones_unpaid() -> list[Milestone]:
    """Billed milestones with something still open, the longest billed first."""
    billed = _milestones(Milestone.State.BILLED).order_by("billed_at", "pk")
    return [milestone for milestone in billed if outstanding(milestone) > 0]


def _milestones(state: Milestone.State) -> QuerySet[Milestone]:
    return (
        Milestone.objects.filter(state=state)
        .select_related("contract_version__engagement__customer")
        .defer("contract_version__canonical")
        .prefetch_related("payments")
    )
