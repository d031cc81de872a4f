"""The settlement: payments received less the audit cost, proposed, approved by another, paid."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_finance
from engagements.billing import credit_notes
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.contracts import versions
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.settlements import disputes, grounds, postings
from engagements.settlements.calculation import Calculation, preview
from engagements.settlements.credit_plans import PlannedCredit
from engagements.settlements.models import Settlement
from engagements.settlements.steps import advance, locked, require_state, told

State = Settlement.State
Reason = Settlement.Reason


@transaction.atomic
def propose(
    *,
    contract: ContractVersion,
    reason: str,
    by: User | None,
    note: str = "",
    audit_cost: Decimal | None = None,
) -> Settlement:
    """Propose the settlement of a contract whose target was missed or whose time-box ran out.

    After a paid one, a `further` settlement sends back what came in since, and what was kept
    where it keeps a smaller `audit_cost` (net); its `note` says why. Without `by` the
    application proposes. Proposed again by the same person, nothing changes.
    """
    engagement = stages.locked(contract.engagement_id)
    if by is not None and not (access.is_finance(by) or access.is_consultant(by)):
        raise ApplicationError("Consultants or people of finance do this.", code="settlements.todo")
    if reason not in Reason.values:
        raise ApplicationError(
            f"{reason!r} is no reason for a settlement.", code="settlements.todo"
        )
    row = ContractVersion.objects.get(pk=contract.pk)
    row.engagement = engagement
    if row.state != ContractVersion.State.ACCEPTED:
        raise ApplicationError("Only a contract in force is settled.", code="settlements.todo")
    known = _known(row, reason, by)
    if known:
        return known
    ground = grounds.ground(row, reason, note=note, audit_cost=audit_cost)
    return settle(
        engagement=engagement,
        contract=row,
        reason=Reason(reason),
        by=by,
        note=ground.note,
        audit_cost=ground.audit_cost,
    )


def _known(contract: ContractVersion, reason: str, by: User | None) -> Settlement | None:
    """The settlement that a repeated proposal asks for; Refused where another is under way."""
    live = contract.settlements.exclude(state__in=(State.VOIDED, State.PAID)).first()
    if live is None:
        return None
    proposer = by.pk if by else None
    if (live.state, live.reason, live.proposed_by_id) == (State.PROPOSED, reason, proposer):
        return live
    raise ApplicationError("This contract is being settled already.", code="settlements.todo")


@transaction.atomic
def settle(
    *,
    engagement: Engagement,
    contract: ContractVersion,
    reason: Settlement.Reason,
    by: User | None = None,
    note: str = "",
    audit_cost: Decimal | None = None,
) -> Settlement:
    """Fix the figures, under the engagement's lock; take back what will not be paid any more.

    An active engagement becomes missed with it. Callers have checked that there is ground.
    """
    if engagement.stage == Stage.ACTIVE:
        _miss(engagement, reason)
    contract.engagement = engagement
    figures = preview(contract=contract, audit_cost=audit_cost)
    settlement = _proposed(contract, figures, reason=reason, by=by, note=note)
    postings.settlement_proposed(settlement)
    _credit(settlement, figures.credits.cancelled, None)
    _void(figures.void)
    _tell(settlement, engagement, figures.void)
    return settlement


def _proposed(
    contract: ContractVersion,
    figures: Calculation,
    *,
    reason: Settlement.Reason,
    by: User | None,
    note: str,
) -> Settlement:
    settlement = Settlement(
        contract_version=contract,
        reason=reason,
        note=note,
        currency=figures.currency,
        payments_received=figures.payments_received,
        refunded_before=figures.refunded_before,
        audit_cost=figures.audit_cost,
        audit_tax=figures.audit_tax,
        refund=figures.refund,
        balance_due=figures.balance_due,
        proposed_by=by,
        proposed_at=timezone.now(),
    )
    # Where one is under way already, its constraint says so.
    validation.save_validated(settlement)
    return settlement


def _tell(settlement: Settlement, engagement: Engagement, void: Iterable[Milestone]) -> None:
    events.record(
        engagement=engagement,
        verb="settlement.proposed",
        summary=f"{settlement.get_reason_display()}: {told(settlement)}.",
        actor=settlement.proposed_by,
        changes={
            "settlement": settlement.pk,
            "refund": str(settlement.refund),
            "balance_due": str(settlement.balance_due),
            "voided_milestones": [milestone.pk for milestone in void],
        },
    )


def _void(milestones: Iterable[Milestone]) -> None:
    for milestone in milestones:
        milestone.state = Milestone.State.VOID
        milestone.save(update_fields=["state"])


def _credit(settlement: Settlement, planned: Iterable[PlannedCredit], by: User | None) -> None:
    for credit in planned:
        note = credit_notes.credit(
            invoice=credit.invoice,
            reason=f"{settlement.get_reason_display()}.",
            by=by,
            lines=credit.parts,
        )
        settlement.credit_notes.add(note)


def _miss(engagement: Engagement, reason: Settlement.Reason) -> None:
    events.record(
        engagement=engagement,
        verb="engagement.missed",
        summary=f"{reason.label}. The settlement is being prepared.",
        actor=None,
        changes=stages.move(engagement, Stage.MISSED),
        for_customer=True,
    )


@transaction.atomic
def settle_when_time_box_is_over(*, engagement: Engagement) -> Settlement | None:
    """Propose the settlement of an engagement whose time-box and, after it, the contract's
    dispute window ran out; None when there is none.

    The sweep calls this for every candidate; what it saw before is checked again here.
    """
    row = stages.locked(engagement.pk)
    contract = versions.contract_in_force(row)
    if row.stage != Stage.ACTIVE or contract is None or grounds.time_box_obstacle(row):
        return None
    if timezone.localdate() < time_box.settles_on(row):
        return None
    return settle(engagement=row, contract=contract, reason=Reason.TIME_BOX)


@transaction.atomic
def approve(*, settlement: Settlement, by: User) -> Settlement:
    """A person of finance who did not propose it agrees to the figures.

    What goes back of paid invoices is credited with it. Refused on hold, and where what was
    received or billed has changed since.
    """
    row, engagement = locked(settlement)
    require_finance(by)
    if row.proposed_by_id == by.pk:
        raise ApplicationError(
            "Nobody approves a settlement they proposed themselves.", code="settlements.todo"
        )
    if row.approved_at and row.state != State.VOIDED:
        return row
    require_state(row, State.PROPOSED, to="to be approved")
    disputes.require_none_open(row)
    figures = preview(contract=row.contract_version, audit_cost=row.audit_cost)
    _require_as_proposed(row, figures)
    row.approved_by, row.approved_at = by, timezone.now()
    advance(row, engagement, State.APPROVED, f"Approved: {told(row)}.", by)
    _credit(row, (*figures.credits.cancelled, *figures.credits.refunded), by)
    postings.settlement_approved(row)
    return row


def _require_as_proposed(settlement: Settlement, figures: Calculation) -> None:
    names = ("payments_received", "refunded_before", "audit_cost", "audit_tax", "refund")
    if any(getattr(settlement, name) != getattr(figures, name) for name in names):
        raise ApplicationError(
            "What was received or billed has changed since this was proposed: void it and "
            "propose it anew.",
            code="settlements.todo",
        )


@transaction.atomic
def void(*, settlement: Settlement, reason: str, by: User) -> Settlement:
    """Set a settlement aside before any money moves. Another may then be proposed."""
    row, engagement = locked(settlement)
    require_finance(by)
    if row.state == State.VOIDED:
        return row
    why = validation.text(reason, noun="The reason")
    require_state(row, State.PROPOSED, State.APPROVED, State.FAILED, to="to be voided")
    disputes.end_with(row, resolution=why, by=by)
    row.voided_by, row.void_reason = by, why
    advance(row, engagement, State.VOIDED, f"The settlement was set aside: {why}", by, reason=why)
    postings.settlement_voided(row)
    return row
