"""Find versions of an engagement's contract: in force, sealed, accepted."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from django.db.models import Prefetch, QuerySet
from django.utils import timezone

from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance
from engagements.engagement.models import Engagement

if TYPE_CHECKING:
    from engagements.runs.models import EngagementRun


def open_acceptance_run(engagement: Engagement) -> EngagementRun | None:
    """The acceptance run without a verdict yet, if there is one."""
    return engagement.runs.filter(purpose="acceptance", concluded_at__isnull=True).first()


def contract_in_force(engagement: Engagement) -> ContractVersion | None:
    """The version accepted by both parties, if there is one."""
    return engagement.contracts.filter(state=ContractVersion.State.ACCEPTED).first()


def sealed_contracts(*engagements: Engagement) -> QuerySet[ContractVersion]:
    """Every version that was offered to the customer, newest first."""
    acceptances = Acceptance.objects.select_related("user")
    return (
        ContractVersion.objects.filter(engagement__in=engagements, sealed_at__isnull=False)
        .select_related("benchmark", "engagement__customer", "signatory")
        .prefetch_related(Prefetch("acceptances", queryset=acceptances), "pauses")
    )


def agreed_on(engagement: Engagement) -> date:
    """The day on which both parties had accepted the first version of a contract in force."""
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    first = engagement.contracts.filter(state__in=agreed).order_by("number").first()
    assert first is not None  # a contract is in force
    return max(timezone.localdate(row.accepted_at) for row in first.acceptances.all())


def acceptance_of(contract: ContractVersion, party: Party) -> Acceptance | None:
    """One party's acceptance of a version."""
    return next((row for row in contract.acceptances.all() if row.party == party), None)
