"""TODO docstring."""

from __future__ import annotations

from django.db.models import QuerySet

from engagements.engagement.models import Engagement
from engagements.settlements.models import Settlement

OPEN_SETTLEMENTS = (
    Settlement.State.PROPOSED,
    Settlement.State.APPROVED,
    Settlement.State.PAYING,
    Settlement.State.FAILED,
)


# What a settlement's hold and the day of its refund are read from.
WITH_DISPUTES = ("disputes", "contract_version__settlements__disputes")


def live_settlements() -> QuerySet[Settlement]:
    """Settlements that count: all but those that were voided."""
    return Settlement.objects.exclude(state=Settlement.State.VOIDED)


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


def settlement_of(engagement: Engagement) -> Settlement | None:
    """The settlement that counts: a voided one was never anything to the customer."""
    return (
        live_settlements()
        .filter(contract_version__engagement=engagement)
        .order_by("-proposed_at")
        .first()
    )
