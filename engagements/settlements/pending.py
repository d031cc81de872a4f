"""Contracts that want a settlement, and settled ones for which more came in since."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import DecimalField, F, OuterRef, Q, QuerySet, Subquery, Sum

from engagements.billing.payment_models import Payment
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage
from engagements.settlements.models import Settlement
from engagements.settlements.queries import OPEN_SETTLEMENTS, live_settlements

State = Settlement.State
# Money in flight counts as gone.
GONE = (State.PAYING, State.PAID)
AMOUNT = DecimalField(max_digits=14, decimal_places=3)


@dataclass(frozen=True)
class PendingSettlement:
    """A contract that wants a settlement, and the one proposed last, if any was: it was set
    aside, or it is paid and more came in since."""

    contract: ContractVersion
    last: Settlement | None


def pending_settlements(*, today: datetime.date) -> list[PendingSettlement]:
    """Contracts in force that want a settlement and have none that is under way.

    The target was missed, or the time-box ran out before `today` without a verdict; or the
    contract is settled, and money came in since.
    """
    wants = Q(engagement__stage=Stage.MISSED) | Q(
        engagement__stage=Stage.ACTIVE, engagement__time_box__ends_on__lt=today
    )
    in_force = ContractVersion.objects.filter(state=ContractVersion.State.ACCEPTED)
    never = in_force.filter(wants).exclude(pk__in=live_settlements().values("contract_version"))
    contracts = (
        in_force.filter(
            Q(pk__in=never.values("pk")) | Q(pk__in=settled_with_more_since().values("pk"))
        )
        .select_related("engagement__customer")
        .prefetch_related("settlements__disputes")
        .order_by("engagement__reference")
    )
    return [
        PendingSettlement(contract, contract.settlements.all().first()) for contract in contracts
    ]


def has_unsettled_payments(engagement: Engagement) -> bool:
    """Whether more came in for a settled engagement than its settlements kept and sent back."""
    return settled_with_more_since().filter(engagement=engagement).exists()


def settled_with_more_since() -> QuerySet[ContractVersion]:
    """Settled contracts for which more came in than their settlements kept and sent back."""
    of_this = Settlement.objects.filter(contract_version=OuterRef("pk")).order_by("-pk")
    paid = of_this.filter(state=State.PAID).annotate(kept=F("audit_cost") + F("audit_tax"))
    gone = of_this.filter(state__in=GONE).order_by().values("contract_version")
    payments = Payment.objects.filter(invoice__engagement=OuterRef("engagement")).order_by()
    received = payments.values("invoice__engagement").annotate(total=Sum("amount")).values("total")
    open_ones = Settlement.objects.filter(state__in=OPEN_SETTLEMENTS)
    return (
        ContractVersion.objects.alias(
            received=Subquery(received, output_field=AMOUNT),
            kept=Subquery(paid.values("kept")[:1], output_field=AMOUNT),
            gone=Subquery(gone.annotate(sum=Sum("refund")).values("sum"), output_field=AMOUNT),
        )
        .filter(received__gt=F("kept") + F("gone"))
        .exclude(pk__in=open_ones.values("contract_version"))
    )
