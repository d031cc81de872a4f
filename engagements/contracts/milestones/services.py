"""Milestones that wait for the customer: the handover accepted."""

from __future__ import annotations

from django.db import transaction

from engagements import access
from engagements.common.errors import ApplicationError
from engagements.contracts import versions
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.milestones.releases import release
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User


@transaction.atomic
def accept_handover(*, engagement: Engagement, by: User, address: str | None = None) -> Engagement:
    """The customer's signatory accepts the handover: what waited for it is released."""
    row = stages.locked(engagement.pk)
    access.require_signatory(row, by)
    stages.require_stage(row, Stage.MET, Stage.CLOSED, to="for its handover to be accepted")
    contract = versions.contract_in_force(row)
    assert contract is not None  # only a contract in force is met
    contract.engagement = row
    waiting = contract.milestones.filter(condition=ReleaseCondition.HANDOVER)
    if not waiting.exists():
        raise ApplicationError("No handover was agreed in this contract.", code="contracts.todo")
    if not waiting.filter(state=Milestone.State.PENDING).exists():
        return row
    events.record(
        engagement=row,
        verb="handover.accepted",
        summary=f"{by} accepted the handover for {row.customer}.",
        actor=by,
        address=address,
        for_customer=True,
    )
    release(contract=contract, condition=ReleaseCondition.HANDOVER, by=by)
    return row
