"""Milestones that wait for the customer: the handover accepted."""

from __future__ import annotations

from django.db import transaction

from engagements import access
from engagements.errors import Refused
from engagements.models import Engagement, Milestone, ReleaseCondition, Stage, User
from engagements.services import events, lifecycle
from engagements.services.releases import release


def require_finance(by: User) -> None:
    """Refuse whoever may not move money; a superuser is no exception."""
    if not access.is_finance(by):
        raise Refused("Only people of finance do this.")


@transaction.atomic
def accept_handover(*, engagement: Engagement, by: User, address: str | None = None) -> Engagement:
    """The customer's signatory accepts the handover: what waited for it is released."""
    row = lifecycle.locked(engagement.pk)
    lifecycle.require_signatory(row, by)
    lifecycle.require_stage(row, Stage.MET, Stage.CLOSED, to="for its handover to be accepted")
    contract = lifecycle.contract_in_force(row)
    assert contract is not None  # only a contract in force is met
    contract.engagement = row
    waiting = contract.milestones.filter(condition=ReleaseCondition.HANDOVER)
    if not waiting.exists():
        raise Refused("No handover was agreed in this contract.")
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
