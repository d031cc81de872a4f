"""The settlement: payments received less the audit cost, proposed, approved by another, paid."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from engagements import access
from engagements.errors import Refused
from engagements.models import (
    ContractVersion,
    Engagement,
    Settlement,
    Stage,
    TimeBox,
    User,
)
from engagements.money import format_money
from engagements.services import checked, dispatch, events, lifecycle
from engagements.services.calculations import Calculation, preview
from engagements.services.milestones import require_finance

__all__ = [
    "Calculation",
    "approve",
    "mark_failed",
    "mark_paid",
    "preview",
    "propose",
    "settle",
    "settle_when_time_box_is_over",
    "start_payment",
    "void",
]

State = Settlement.State
Reason = Settlement.Reason


@transaction.atomic
def propose(*, contract: ContractVersion, reason: str, by: User | None) -> Settlement:
    """Propose the settlement of a contract whose target was missed or whose time-box ran out.

    Without `by` the application proposes. Proposed again by the same person, nothing changes.
    """
    engagement = lifecycle.locked(contract.engagement_id)
    if by is not None and not (access.is_finance(by) or access.is_consultant(by)):
        raise Refused("Consultants or people of finance do this.")
    if reason not in Reason.values:
        raise Refused(f"{reason!r} is no reason for a settlement.")
    row = ContractVersion.objects.get(pk=contract.pk)
    row.engagement = engagement
    if row.state != ContractVersion.State.ACCEPTED:
        raise Refused("Only a contract in force is settled.")
    live = row.settlements.exclude(state=State.VOIDED).first()
    if live:
        proposer = by.pk if by else None
        if (live.state, live.reason, live.proposed_by_id) == (State.PROPOSED, reason, proposer):
            return live
        raise Refused("This contract is being settled already.")
    if engagement.stage == Stage.ACTIVE and reason == Reason.TIME_BOX:
        _require_time_box_over(engagement)
    else:
        lifecycle.require_stage(engagement, Stage.MISSED, to="for its contract to be settled")
    return settle(engagement=engagement, contract=row, reason=Reason(reason), by=by)


def settle(
    *,
    engagement: Engagement,
    contract: ContractVersion,
    reason: Settlement.Reason,
    by: User | None = None,
) -> Settlement:
    """Fix the figures, under the engagement's lock; void what will not be earned any more.

    An active engagement becomes missed with it. Callers have checked that there is ground.
    """
    if engagement.stage == Stage.ACTIVE:
        _miss(engagement, reason)
    figures = preview(contract=contract)
    settlement = Settlement(
        contract_version=contract,
        reason=reason,
        currency=figures.currency,
        payments_received=figures.payments_received,
        audit_cost=figures.audit_cost,
        audit_tax=figures.audit_tax,
        refund=figures.refund,
        balance_due=figures.balance_due,
        proposed_by=by,
    )
    _save_once(settlement)
    voided = lifecycle.void_unearned_milestones(engagement)
    events.record(
        engagement=engagement,
        verb="settlement.proposed",
        summary=f"{reason.label}: {_told(settlement)}.",
        actor=by,
        changes={
            "settlement": settlement.pk,
            "refund": str(settlement.refund),
            "balance_due": str(settlement.balance_due),
            "voided_milestones": [milestone.pk for milestone in voided],
        },
    )
    return settlement


def _save_once(settlement: Settlement) -> None:
    try:
        with transaction.atomic():
            checked.save(settlement)
    except IntegrityError as error:
        raise Refused("This contract is being settled already.") from error


def _miss(engagement: Engagement, reason: Settlement.Reason) -> None:
    events.record(
        engagement=engagement,
        verb="engagement.missed",
        summary=f"{reason.label}. The settlement is being prepared.",
        actor=None,
        changes=lifecycle.move(engagement, Stage.MISSED),
        for_customer=True,
    )


@transaction.atomic
def settle_when_time_box_is_over(*, engagement: Engagement) -> Settlement | None:
    """Propose the settlement of an engagement whose time-box ran out; None when there is none.

    The sweep calls this for every candidate; what it saw before is checked again here.
    """
    row = lifecycle.locked(engagement.pk)
    contract = lifecycle.contract_in_force(row)
    if row.stage != Stage.ACTIVE or contract is None or time_box_obstacle(row):
        return None
    contract.engagement = row
    return settle(engagement=row, contract=contract, reason=Reason.TIME_BOX)


def time_box_obstacle(engagement: Engagement) -> str | None:
    """Why the time-box does not end the engagement yet; None when it does."""
    box = TimeBox.objects.get(engagement=engagement)
    if timezone.localdate() <= box.ends_on:
        return f"The time-box runs until {box.ends_on}."
    if lifecycle.open_acceptance_run(engagement):
        return "An acceptance run asked for inside the time-box is still going on."
    return None


def _require_time_box_over(engagement: Engagement) -> None:
    obstacle = time_box_obstacle(engagement)
    if obstacle:
        raise Refused(obstacle)


@transaction.atomic
def approve(*, settlement: Settlement, by: User) -> Settlement:
    """A person of finance who did not propose it agrees to the figures."""
    row, engagement = _locked(settlement)
    require_finance(by)
    if row.proposed_by_id == by.pk:
        raise Refused("Nobody approves a settlement they proposed themselves.")
    if row.approved_at and row.state != State.VOIDED:
        return row
    _require_state(row, State.PROPOSED, to="to be approved")
    row.approved_by, row.approved_at = by, timezone.now()
    _advance(row, engagement, State.APPROVED, f"Approved: {_told(row)}.", by)
    return row


@transaction.atomic
def start_payment(*, settlement: Settlement, by: User) -> Settlement:
    """The transfer is on its way; after a failed one this tries again."""
    row, engagement = _locked(settlement)
    require_finance(by)
    if row.state in (State.PAYING, State.PAID):
        return row
    _require_state(row, State.APPROVED, State.FAILED, to="to be paid")
    _advance(row, engagement, State.PAYING, f"On its way: {_told(row)}.", by)
    return row


@transaction.atomic
def mark_paid(*, settlement: Settlement, reference: str, by: User) -> Settlement:
    """The money has moved, under `reference` of the bank. The statement is issued."""
    row, engagement = _locked(settlement)
    require_finance(by)
    reference = checked.text(reference, noun="The payment reference")
    if row.state == State.PAID:
        if row.payment_reference != reference:
            raise Refused(f"This settlement was paid already, as {row.payment_reference}.")
        return row
    _require_state(row, State.APPROVED, State.PAYING, State.FAILED, to="to be marked as paid")
    row.paid_by, row.paid_at, row.payment_reference = by, timezone.now(), reference
    _advance(
        row,
        engagement,
        State.PAID,
        f"Paid: {_told(row)}, reference {reference}.",
        by,
        reference=reference,
    )
    dispatch.issue_document("settlement_statement", f"settlement:{row.pk}")
    return row


@transaction.atomic
def mark_failed(*, settlement: Settlement, reason: str, by: User) -> Settlement:
    """The transfer came back. It may be started again, or the settlement voided."""
    row, engagement = _locked(settlement)
    require_finance(by)
    if row.state == State.FAILED:
        return row
    why = checked.text(reason, noun="The reason")
    _require_state(row, State.PAYING, to="to be marked as failed")
    _advance(row, engagement, State.FAILED, f"The transfer failed: {why}", by, reason=why)
    return row


@transaction.atomic
def void(*, settlement: Settlement, reason: str, by: User) -> Settlement:
    """Set a settlement aside before any money moves. Another may then be proposed."""
    row, engagement = _locked(settlement)
    require_finance(by)
    if row.state == State.VOIDED:
        return row
    why = checked.text(reason, noun="The reason")
    _require_state(row, State.PROPOSED, State.APPROVED, State.FAILED, to="to be voided")
    row.voided_by, row.void_reason = by, why
    _advance(row, engagement, State.VOIDED, f"The settlement was set aside: {why}", by, reason=why)
    return row


def _locked(settlement: Settlement) -> tuple[Settlement, Engagement]:
    """The settlement read again under its engagement's lock."""
    contract = ContractVersion.objects.get(pk=settlement.contract_version_id)
    engagement = lifecycle.locked(contract.engagement_id)
    row = Settlement.objects.select_related("contract_version__engagement").get(pk=settlement.pk)
    return row, engagement


def _require_state(settlement: Settlement, *states: State, to: str) -> None:
    if settlement.state not in states:
        wanted = " or ".join(state.label.lower() for state in states)
        now = State(settlement.state).label.lower()
        raise Refused(f"The settlement is {now}; {to} it must be {wanted}.")


def _advance(
    settlement: Settlement,
    engagement: Engagement,
    state: State,
    summary: str,
    by: User,
    **facts: str,
) -> None:
    before = settlement.state
    settlement.state = state
    checked.save(settlement)
    events.record(
        engagement=engagement,
        verb=f"settlement.{state.value}",
        summary=summary,
        actor=by,
        changes={"settlement": settlement.pk, "state": [before, state.value], **facts},
        # Figures reach the customer once a second person has agreed to them.
        for_customer=state in (State.APPROVED, State.PAYING, State.PAID),
    )


def _told(settlement: Settlement) -> str:
    if settlement.balance_due > 0:
        due = format_money(settlement.balance_due, settlement.currency)
        return f"{due} of the audit is still to be paid"
    return f"{format_money(settlement.refund, settlement.currency)} goes back to the customer"
