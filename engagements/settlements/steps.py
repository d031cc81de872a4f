"""What every step of a settlement does: read it under its lock, check its state, move it on."""

from __future__ import annotations

from engagements.common import validation
from engagements.common.money import format_money
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import User
from engagements.settlements.models import Settlement

State = Settlement.State


def locked(settlement: Settlement) -> tuple[Settlement, Engagement]:
    """The settlement read again under its engagement's lock."""
    contract = ContractVersion.objects.get(pk=settlement.contract_version_id)
    engagement = stages.locked(contract.engagement_id)
    row = Settlement.objects.select_related("contract_version").get(pk=settlement.pk)
    row.contract_version.engagement = engagement
    return row, engagement


def require_state(settlement: Settlement, *states: State, to: str) -> None:
    """Refuse unless the settlement is in one of `states`; `to` says what for."""
    validation.state(State(settlement.state), *states, noun="The settlement", to=to)


def advance(
    settlement: Settlement,
    engagement: Engagement,
    state: State,
    summary: str,
    by: User,
    **facts: str,
) -> None:
    """Put a locked settlement into `state`, and write down who did."""
    before = settlement.state
    settlement.state = state
    validation.save_validated(settlement)
    events.record(
        engagement=engagement,
        verb=f"settlement.{state.value}",
        summary=summary,
        actor=by,
        changes={"settlement": settlement.pk, "state": [before, state.value], **facts},
        # Figures reach the customer once a second person has agreed to them.
        for_customer=state in (State.APPROVED, State.PAYING, State.PAID),
    )


def told(settlement: Settlement) -> str:
    """What a settlement comes to, in words that both sides read."""
    if settlement.balance_due > 0:
        due = format_money(settlement.balance_due, settlement.currency)
        return f"{due} of the audit is still to be paid"
    if settlement.has_refund:
        back = format_money(settlement.refund, settlement.currency)
        return f"{back} of what was paid goes back"
    return "nothing goes back, and nothing is owed"
