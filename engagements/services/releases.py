"""Releasing milestones when what they waited for has happened."""

from __future__ import annotations

from django.utils import timezone

from engagements.models import ContractVersion, Milestone, ReleaseCondition, User
from engagements.money import format_money
from engagements.services import events


def release(
    *, contract: ContractVersion, condition: ReleaseCondition, by: User | None = None
) -> list[Milestone]:
    """Release the pending milestones that waited for `condition`, under the engagement's lock.

    Returns those released now: none the second time.
    """
    waiting = list(contract.milestones.filter(condition=condition, state=Milestone.State.PENDING))
    for milestone in waiting:
        milestone.state = Milestone.State.RELEASED
        milestone.released_at = timezone.now()
        milestone.save(update_fields=["state", "released_at"])
        events.record(
            engagement=contract.engagement,
            verb="milestone.released",
            summary=f"“{milestone.title}” ({format_money(milestone.amount, contract.currency)}) "
            f"may be billed: {condition.label.lower()}.",
            actor=by,
            changes={"milestone": milestone.pk, "state": ["pending", "released"]},
            for_customer=True,
        )
    return waiting
