"""TODO docstring."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet

from engagements.contracts.models import Acceptance, ContractVersion, Party
from engagements.engagement.models import Engagement


def sealed_contracts(engagement: Engagement) -> QuerySet[ContractVersion]:
    """The versions that were ever put before the customer, newest first. Drafts are not."""
    acceptances = Acceptance.objects.select_related("user")
    return (
        engagement.contracts.filter(sealed_at__isnull=False)
        .select_related("benchmark", "engagement__customer", "signatory")
        .prefetch_related(Prefetch("acceptances", queryset=acceptances))
    )


def acceptance_of(contract: ContractVersion, party: Party) -> Acceptance | None:
    """What one party has accepted of this version."""
    return next((a for a in contract.acceptances.all() if a.party == party), None)
