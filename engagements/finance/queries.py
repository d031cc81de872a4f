"""What finance looks at: what is billed, open, at risk, and waiting to go back."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, Sum

from engagements.billing.payment_models import Payment
from engagements.common.money import gross_of
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage
from engagements.runs.estimates import Estimate, latest_estimates
from engagements.settlements.models import Settlement
from engagements.settlements.queries import OPEN_SETTLEMENTS


@dataclass(frozen=True)
class AtRisk:
    """Payments received that might go back (or will, once missed), in `currency`, gross."""

    engagement: Engagement
    contract: ContractVersion
    currency: str
    received: Decimal
    could_go_back: Decimal
    estimate: Estimate | None


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
