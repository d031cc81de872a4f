"""Releasing milestones when what they waited for has happened."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from engagements.common.money import format_money
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Stage
from engagements.event_log import events
from engagements.people.models import User

RUNNING = (Stage.ACTIVE, Stage.MET)


def release(
    *, contract: ContractVersion, condition: ReleaseCondition, by: User | None = None
) -> list[Milestone]:
    """Release the pending milestones that waited for `condition`, under the engagement's lock.

    Those that wait for a date are released once it has come. Returns those released now: none
    the second time.
    """
    pending = contract.milestones.filter(condition=condition, state=Milestone.State.PENDING)
    if condition == ReleaseCondition.DATE:
        pending = pending.filter(due_on__lte=timezone.localdate())
    waiting = list(pending)
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


def dated() -> list[ContractVersion]:
    """Contracts in force with pending milestones whose date has come."""
    return list(
        ContractVersion.objects.filter(
            state=ContractVersion.State.ACCEPTED,
            engagement__stage__in=RUNNING,
            milestones__condition=ReleaseCondition.DATE,
            milestones__state=Milestone.State.PENDING,
            milestones__due_on__lte=timezone.localdate(),
        ).distinct()
    )


@transaction.atomic
def release_dated(*, contract: ContractVersion) -> list[Milestone]:
    """Release a contract's milestones whose date has come; what was seen is looked at again."""
    engagement = stages.locked(contract.engagement_id)
    row = ContractVersion.objects.get(pk=contract.pk)
    if engagement.stage not in RUNNING or row.state != ContractVersion.State.ACCEPTED:
        return []
    row.engagement = engagement
    return release(contract=row, condition=ReleaseCondition.DATE)
