"""The workflow of a settlement: propose, approve, void. `payouts.refunds` pays it."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_finance
from engagements.billing import credit_notes, payments, write_offs
from engagements.billing.payment_models import Payment
from engagements.billing.reopening import reopen
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.ratios import with_interval
from engagements.common.text import strip_invisible
from engagements.contracts import versions
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User
from engagements.settlements import disputes, grounds, postings
from engagements.settlements.calculation import Calculation, can_bill_audit, preview
from engagements.settlements.credit_plans import PlannedCredit
from engagements.settlements.models import Settlement
from engagements.settlements.transitions import (
    advance,
    locked,
    outcome_text,
    payout_text,
    require_state,
)

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
    """Propose the settlement of a contract after a missed target or an ended time-box.

    A `further` settlement follows a paid one: it refunds later payments and, with a smaller
    `audit_cost` (net), part of the audit; its `note` says why. One by agreement ends an engagement
    before its verdict, and may keep less of the audit. `by` is None for the application.
    Idempotent for the same person and figures; declined while another settlement is open.
    """
    engagement = stages.locked(contract.engagement_id)
    if by is not None and not (access.is_finance(by) or access.is_consultant(by)):
        raise ApplicationError(
            "Only consultants and finance propose settlements.", code="settlement.not_permitted"
        )
    if reason not in Reason.values:
        raise ApplicationError("Choose a reason.", code="settlement.unknown_reason")
    row = ContractVersion.objects.get(pk=contract.pk)
    row.engagement = engagement
    if row.state != ContractVersion.State.ACCEPTED:
        raise ApplicationError(
            "Only a contract in force can be settled.", code="settlement.contract_not_in_force"
        )
    open_one = row.settlements.exclude(state__in=(State.VOIDED, State.PAID)).first()
    if open_one:
        _require_same(open_one, reason, by, note=note, audit_cost=audit_cost)
        return open_one
    terms = grounds.terms_of(row, reason, note=note, audit_cost=audit_cost)
    return create_proposal(
        engagement=engagement,
        contract=row,
        reason=Reason(reason),
        by=by,
        note=terms.note,
        audit_cost=terms.audit_cost,
    )


def _require_same(
    existing: Settlement, reason: str, by: User | None, *, note: str, audit_cost: Decimal | None
) -> None:
    contract = existing.contract_version
    kept = grounds.default_audit_cost(contract) if audit_cost is None else audit_cost
    if audit_cost is None and not can_bill_audit(contract):
        # The unbillable part was waived.
        kept = min(kept, existing.audit_cost)
    requested = (
        *(State.PROPOSED, reason, by.pk if by else None),
        *(strip_invisible(note), kept),
    )
    if requested != (
        *(existing.state, existing.reason, existing.proposed_by_id),
        *(existing.note, existing.audit_cost),
    ):
        raise ApplicationError(
            "Another settlement of this contract is open: void it first.",
            code="settlement.already_proposed",
        )


@transaction.atomic
def create_proposal(
    *,
    engagement: Engagement,
    contract: ContractVersion,
    reason: Settlement.Reason,
    by: User | None = None,
    note: str = "",
    audit_cost: Decimal | None = None,
) -> Settlement:
    """Fix the figures, credit unpaid invoices and void unearned milestones.

    The caller holds the engagement's lock and has checked the grounds. An active engagement
    becomes missed; so does a met one whose target the repeat of a run did not meet.
    """
    if engagement.stage in (Stage.ACTIVE, Stage.MET):
        _record_missed(engagement, reason)
    contract.engagement = engagement
    write_offs.reverse_all(engagement=engagement, reason="The settlement counts all payments.")
    figures = preview(contract=contract, audit_cost=audit_cost)
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
    validation.save_validated(settlement)
    postings.settlement_proposed(settlement)
    reopen(engagement, reason="a further settlement was proposed", by=by)
    _credit(settlement, figures.credits.cancelled)
    for milestone in figures.void:
        milestone.state = Milestone.State.VOID
        milestone.save(update_fields=["state"])
    events.record(
        engagement=engagement,
        verb="settlement.proposed",
        summary=f"{settlement.get_reason_display()}: {outcome_text(settlement)}.",
        actor=by,
        changes={
            "settlement": settlement.pk,
            "refund": str(settlement.refund),
            "balance_due": str(settlement.balance_due),
            "voided_milestones": [milestone.pk for milestone in figures.void],
        },
    )
    return settlement


def _credit(settlement: Settlement, planned: Iterable[PlannedCredit]) -> None:
    for credit in planned:
        note = credit_notes.credit(
            invoice=credit.invoice,
            reason=f"{settlement.get_reason_display()}.",
            lines=credit.parts,
        )
        settlement.credit_notes.add(note)


def _last_measured(engagement: Engagement) -> str:
    """The ratio of the newest measured acceptance run, unless a repeat replaced it."""
    run = (
        engagement.runs.filter(purpose="acceptance", run__record__ratio__isnull=False)
        .select_related("run__record")
        .order_by("-run__record__received_at")
        .first()
    )
    if run is None or run.repeat_verdict:
        return ""
    record = run.run.record
    return f" Measured: {with_interval(record.ratio, record.low, record.high)}."


def _record_missed(engagement: Engagement, reason: Settlement.Reason) -> None:
    events.record(
        engagement=engagement,
        verb="engagement.missed",
        summary=f"{reason.label}.{_last_measured(engagement)} The settlement is being prepared.",
        actor=None,
        changes=stages.move(engagement, Stage.MISSED),
        for_customer=True,
    )


@transaction.atomic
def propose_after_time_box(*, engagement: Engagement) -> Settlement | None:
    """Propose the settlement of an active engagement after its time-box and dispute period.

    Called by the sweep for each candidate; returns None where the conditions, checked again under
    the lock, do not hold.
    """
    row = stages.locked(engagement.pk)
    contract = versions.contract_in_force(row)
    if row.stage != Stage.ACTIVE or contract is None or grounds.time_box_error(row):
        return None
    if timezone.localdate() < time_box.settles_on(row) or disputes.is_measurement_disputed(row):
        return None
    return create_proposal(engagement=row, contract=contract, reason=Reason.TIME_BOX)


@transaction.atomic
def approve(*, settlement: Settlement, by: User) -> Settlement:
    """Approve the figures and credit the refunded invoices.

    The proposer may not approve, nor the person who set the refund account. Payments entered
    manually must be confirmed. Declined on hold, and where payments or invoices changed since
    the proposal.
    """
    row, engagement = locked(settlement)
    require_finance(by)
    error = approval_error(row, by=by)
    if error:
        raise error
    if row.approved_at and row.state != State.VOIDED:
        return row
    require_state(row, State.PROPOSED, to="to be approved")
    disputes.require_none_open(row)
    if row.has_refund:
        payments.require_confirmed(
            Payment.objects.filter(invoice__engagement=engagement, invoice__charge__isnull=True)
        )
    figures = preview(contract=row.contract_version, audit_cost=row.audit_cost)
    _require_unchanged(row, figures)
    row.approved_by, row.approved_at = by, timezone.now()
    summary = f"Approved: {outcome_text(row)}.{payout_text(row, engagement)}"
    advance(row, engagement, State.APPROVED, summary, by)
    _credit(row, (*figures.credits.cancelled, *figures.credits.refunded))
    postings.settlement_approved(row)
    return row


def approval_error(settlement: Settlement, *, by: User) -> ApplicationError | None:
    """Return why `by` may not approve the settlement: proposed it, or set the refund account."""
    subject = settlement.subject
    if second_person.is_missing(by=by, others=[settlement.proposed_by_id], subject=subject):
        return ApplicationError(
            "You proposed this settlement: another person of finance approves it.",
            code="settlement.same_person",
        )
    account = settlement.contract_version.engagement.customer.bank_accounts.first()
    setters = account.setters if account and settlement.has_refund else set()
    if second_person.is_missing(by=by, others=setters, subject=subject):
        return ApplicationError(
            "You entered the refund account: another person of finance approves the refund.",
            code="settlement.set_account",
        )
    return None


def _require_unchanged(settlement: Settlement, figures: Calculation) -> None:
    names = ("payments_received", "refunded_before", "audit_cost", "audit_tax", "refund")
    if any(getattr(settlement, name) != getattr(figures, name) for name in names):
        raise ApplicationError(
            "Payments or invoices changed since the proposal: void it and propose it again.",
            code="settlement.outdated",
        )


@transaction.atomic
def void(*, settlement: Settlement, reason: str, by: User) -> Settlement:
    """Void a settlement before any money moves. Another may then be proposed."""
    row, engagement = locked(settlement)
    require_finance(by)
    if row.state == State.VOIDED:
        return row
    why = validation.text(reason, noun="The reason")
    require_state(row, State.PROPOSED, State.APPROVED, State.FAILED, to="to be voided")
    disputes.end_open(row, resolution=why, by=by)
    row.voided_by, row.void_reason = by, why
    advance(row, engagement, State.VOIDED, f"Settlement voided: {why}", by, reason=why)
    postings.settlement_voided(row)
    return row


def overturn(settlement: Settlement, *, reason: str, by: User) -> None:
    """End a settlement whose missed target the repeat of a run undoes, under the caller's lock.

    Before money moves it is voided; a paid one stays, and its refund counts as owed again.
    """
    if settlement.overturned_at is not None:
        return
    if settlement.is_open:
        require_state(settlement, State.PROPOSED, State.APPROVED, State.FAILED, to="to be voided")
        disputes.end_open(settlement, resolution=reason, by=by)
        settlement.voided_by, settlement.void_reason = by, reason
        settlement.overturned_at = timezone.now()
        engagement = settlement.contract_version.engagement
        advance(settlement, engagement, State.VOIDED, f"Settlement voided: {reason}", by)
        postings.settlement_voided(settlement)
    elif settlement.state == State.PAID:
        settlement.overturned_at = timezone.now()
        settlement.save(update_fields=["overturned_at"])
