"""TODO docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement

if TYPE_CHECKING:
    from engagements.runs.models import EngagementRun


def open_acceptance_run(engagement: Engagement) -> EngagementRun | None:
    """The acceptance run whose verdict is still to come, if there is one."""
    return engagement.runs.filter(purpose="acceptance", concluded_at__isnull=True).first()


def contract_in_force(engagement: Engagement) -> ContractVersion | None:
    """The version that both parties accepted, if there is one."""
    return engagement.contracts.filter(state=ContractVersion.State.ACCEPTED).first()
