"""State transitions of a settlement: lock, check the state, advance, record the event."""

from __future__ import annotations

from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people import bank_accounts
from engagements.people.models import User
from engagements.settlements.models import Settlement

State = Settlement.State


def locked(settlement: Settlement) -> tuple[Settlement, Engagement]:
    """Reload the settlement under its engagement's lock."""
    contract = ContractVersion.objects.get(pk=settlement.contract_version_id)
    engagement = stages.locked(contract.engagement_id)
    row = Settlement.objects.select_related("contract_version").get(pk=settlement.pk)
    row.contract_version.engagement = engagement
    return row, engagement


def require_state(settlement: Settlement, *states: State, to: str) -> None:
    """Require one of `states`; `to` names the purpose, as in "to be paid"."""
    validation.state(State(settlement.state), *states, noun="The settlement", to=to)


def advance(
    settlement: Settlement,
    engagement: Engagement,
    state: State,
    summary: str,
    by: User,
    **facts: str,
) -> None:
    """Move a locked settlement to `state` and record the event."""
    before = settlement.state
    settlement.state = state
    validation.save_validated(settlement)
    events.record(
        engagement=engagement,
        verb=f"settlement.{state.value}",
        summary=summary,
        actor=by,
        changes={"settlement": settlement.pk, "state": [before, state.value], **facts},
        # Customers see figures once a second person has approved them.
        for_customer=state in (State.APPROVED, State.PAYING, State.PAID),
    )


def payout_text(settlement: Settlement, engagement: Engagement) -> str:
    """Return the day and the account of the refund as sentences; "" without a refund."""
    if not settlement.has_refund:
        return ""
    due_on = settlement.refund_due_on
    until = f" Due by {in_words(due_on)}." if due_on else ""
    account = bank_accounts.current(engagement.customer)
    if account is None:
        return f"{until} No refund account is confirmed yet."
    return f"{until} Account: {account.masked}."


def outcome_text(settlement: Settlement) -> str:
    """Return the outcome in words for both parties, such as "refund of EUR 7,140.00"."""
    if settlement.balance_due > 0:
        due = format_money(settlement.balance_due, settlement.currency)
        return f"{due} payable for the audit"
    if settlement.has_refund:
        return f"refund of {format_money(settlement.refund, settlement.currency)}"
    return "no refund and no balance due"
