"""Charges for repeats and maintenance: propose, approve, void."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.charges.models import LIVE, Charge
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.contracts import versions
from engagements.contracts.milestones.handovers import accepted_on
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User

if TYPE_CHECKING:
    from engagements.disputes.models import MeasurementDispute

Kind, State = Charge.Kind, Charge.State


@transaction.atomic
def propose_repeat(*, dispute: MeasurementDispute, by: User) -> Charge:
    """Propose to charge the recorded cost of a repeat that the customer bears. Idempotent."""
    engagement = stages.locked(dispute.engagement_id)
    access.require_finance(by)
    known = dispute.charges.filter(state__in=LIVE).first()
    if known is not None:
        return known
    dispute.refresh_from_db()
    if not dispute.owes_reimbursement or dispute.cost_bearer != "customer":
        raise ApplicationError(
            "The customer owes no cost of this repeat.", code="charge.no_repeat_owed"
        )
    contract = dispute.run.contract_version
    assert contract is not None  # an acceptance run names its contract
    assert dispute.cost is not None  # owes_reimbursement
    return save(
        Charge(
            engagement=engagement,
            contract_version=contract,
            kind=Kind.REPEAT,
            amount=dispute.cost,
            title="Repeat of a disputed acceptance run",
            reason=dispute.outcome,
            dispute=dispute,
            proposed_by=by,
        )
    )


@transaction.atomic
def propose_maintenance(
    *, engagement: Engagement, month: date, amount: Decimal, reason: str, by: User
) -> Charge:
    """Propose to charge the maintenance of a calendar month, given by a day of it.

    From the month of the accepted handover to the current one, once each, at most the contract's
    monthly fee. Idempotent for the same amount.
    """
    row = stages.locked(engagement.pk)
    access.require_finance(by)
    contract = maintained_contract(row)
    first = month.replace(day=1)
    amount = validation.amount(amount, contract.currency, noun="The amount")
    known = row.charges.filter(kind=Kind.MAINTENANCE, month=first, state__in=LIVE).first()
    if known is not None and known.amount == amount:
        return known
    if known is not None:
        raise ApplicationError(
            f"Maintenance of {first:%B %Y} is charged already.", code="charge.month_charged"
        )
    _require_month(row, first)
    _require_within_fee(amount, contract)
    return save(
        Charge(
            engagement=row,
            contract_version=contract,
            kind=Kind.MAINTENANCE,
            amount=amount,
            title=f"Maintenance, {first:%B %Y}",
            reason=validation.text(reason, noun="The reason"),
            month=first,
            proposed_by=by,
        )
    )


@transaction.atomic
def approve(*, charge: Charge, by: User) -> Charge:
    """Approve the charge of a repeat or of maintenance, as a second person. Idempotent."""
    row = locked(charge)
    access.require_finance(by)
    if not second_person.may_decide(row, to=State.APPROVED, by=by):
        return row
    if row.dispute is not None and not row.dispute.owes_reimbursement:
        raise ApplicationError(
            "The cost of this repeat was reimbursed: void the charge.", code="charge.reimbursed"
        )
    second_person.decide(row, to=State.APPROVED, by=by)
    record(row, by)
    return row


@transaction.atomic
def void(*, charge: Charge, reason: str, by: User) -> Charge:
    """Void a proposed charge. Another may be proposed. Idempotent."""
    row = locked(charge)
    access.require_finance(by)
    if not second_person.may_decide(row, to=State.VOIDED, by=by):
        return row
    row.ended_by, row.end_reason = by, validation.text(reason, noun="The reason")
    second_person.decide(row, to=State.VOIDED, by=by)
    record(row, by)
    return row


def end(charge: Charge, reason: str, by: User | None) -> Charge:
    """Cancel a locked charge. Its invoice has to be discarded or credited in full before."""
    charge.state, charge.ended_by, charge.end_reason = State.CANCELLED, by, reason
    validation.save_validated(charge)
    record(charge, by)
    return charge


def maintained_contract(engagement: Engagement) -> ContractVersion:
    """The contract in force, with its maintenance fee. ApplicationError without one."""
    contract = versions.contract_in_force(engagement)
    if contract is None or contract.maintenance_fee is None:
        raise ApplicationError("This contract agrees no maintenance.", code="charge.no_maintenance")
    return contract


def _require_month(engagement: Engagement, month: date) -> None:
    accepted = accepted_on(engagement)
    if accepted is None or month < accepted.replace(day=1) or month > timezone.localdate():
        raise ApplicationError(
            "Choose a month from the acceptance of the handover to the current one.",
            code="charge.outside_maintenance",
        )


def _require_within_fee(amount: Decimal, contract: ContractVersion) -> None:
    most = contract.maintenance_fee
    assert most is not None  # maintained_contract
    if not 0 < amount <= most:
        shown = format_money(most, contract.currency)
        raise ApplicationError(
            f"Enter an amount above 0 and of at most {shown}, the monthly fee.",
            code="charge.exceeds_fee",
        )


def locked(charge: Charge) -> Charge:
    """The charge read again under its engagement's lock."""
    engagement = stages.locked(charge.engagement_id)
    row = Charge.objects.select_related("contract_version", "dispute").get(pk=charge.pk)
    row.engagement = row.contract_version.engagement = engagement
    return row


def save(charge: Charge) -> Charge:
    """Save a new proposal and record it."""
    validation.save_validated(charge)
    record(charge, charge.proposed_by)
    return charge


def record(charge: Charge, by: User | None, **facts: Any) -> None:
    """Record what became of a charge. Customers see it once it is approved."""
    amount = format_money(charge.amount, charge.currency)
    state = charge.get_state_display().lower()
    why = f" {charge.end_reason}" if charge.end_reason else ""
    events.record(
        engagement=charge.engagement,
        verb=f"charge.{charge.state}",
        summary=f"{charge.title}, {amount} net: {state}.{why}"[:300],
        actor=by,
        changes={"charge": charge.pk, "amount": str(charge.amount), "state": charge.state, **facts},
        for_customer=charge.state in (State.APPROVED, State.CANCELLED),
    )
