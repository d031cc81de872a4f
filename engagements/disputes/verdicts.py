"""Apply the verdict of a repeat to stage, milestones and money.

    before    repeat     then
    active    met        the target is met
    missed    met        the settlement is overturned: milestones are billed as after a met target
    terminated met       the termination is undone, and the target is met
    met       other      the work continues; after its last day or attempt it is settled,
                         unless the repeat of another attempt met the target
    missed    other      the settlement is overturned and the work continues, if no attempt is final
                         any more, or no second one disqualified, and time is left
    active    other      the attempts are counted again; the last one ends the work

Money that was refunded already becomes due again only once two people of finance have booked it.
A settlement by agreement stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from benchmarks.models import Verdict
from engagements.access import require_finance
from engagements.billing import credit_notes
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common.errors import ApplicationError
from engagements.contracts import versions
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.disputes.models import MeasurementDispute
from engagements.disputes.services import locked, record
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.event_log.models import Event
from engagements.people import second_person
from engagements.people.models import User
from engagements.runs import attempts, postings
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import DISQUALIFICATIONS_FOR_CAUSE
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queries import live_settlements
from engagements.terminations import services as terminations

State = Settlement.State
OVERTURNED = "The repeat of a disputed acceptance run met the target."
UNFOUNDED = "The repeat of a disputed acceptance run took away the reason of the settlement."
MONEY_MOVED = (State.PAYING, State.PAID)


def apply(dispute: MeasurementDispute, *, by: User) -> None:
    """Apply the new verdict of a dispute that a repeat has just ended, under its lock."""
    engagement, run = dispute.engagement, dispute.run
    run.repeat_verdict = dispute.new_verdict
    run.save(update_fields=["repeat_verdict"])
    contract = versions.contract_in_force(engagement)
    assert contract is not None  # an acceptance run has one
    contract.engagement = run.engagement = engagement
    is_met = dispute.new_verdict == Verdict.MET
    if is_met and engagement.stage == Stage.ACTIVE:
        attempts.meet_by_repeat(engagement, contract, run)
    elif is_met and engagement.stage == Stage.TERMINATED:
        terminations.undo(engagement, contract, run, by=by)
    elif not is_met and engagement.stage == Stage.MET:
        if run.final_at and not _met_by_another(run):
            _undo_met(engagement, contract, run)
    elif not is_met:
        attempts.recount(run, contract)
        if engagement.stage == Stage.ACTIVE:
            _end_after_last_attempt(run, contract)
    if engagement.stage == Stage.MISSED and (is_met or _goes_on(engagement, contract)):
        _overturn_or_wait(dispute, contract, by)


def _end_after_last_attempt(run: EngagementRun, contract: ContractVersion) -> None:
    """Settle the contract if the repeat made the run an attempt, and the last one."""
    if (run.attempt or 0) < contract.acceptance_runs or attempts.blocking_error(run):
        return
    run.final_at = timezone.now()
    run.save(update_fields=["final_at"])
    settlements.create_proposal(
        engagement=run.engagement, contract=contract, reason=Settlement.Reason.MISSED
    )


def _goes_on(engagement: Engagement, contract: ContractVersion) -> bool:
    """Whether a settled contract has time left, and the reason of its settlement is gone."""
    settlement = live_settlements().filter(contract_version__engagement=engagement).first()
    if settlement is None or timezone.localdate() > time_box.ends_on(engagement):
        return False
    if settlement.reason == Settlement.Reason.CAUSE:
        return attempts.disqualifications(engagement) < DISQUALIFICATIONS_FOR_CAUSE
    final = attempts.acceptance_runs(engagement).filter(final_at__isnull=False).first()
    is_reached = final is not None and (
        final.declared_final_by_id is not None or final.attempt == contract.acceptance_runs
    )
    return settlement.reason == Settlement.Reason.MISSED and not is_reached


def _met_by_another(run: EngagementRun) -> bool:
    """Whether the repeat of another attempt met the target too."""
    repeated = attempts.acceptance_runs(run.engagement).filter(repeat_verdict=Verdict.MET)
    return repeated.exclude(pk=run.pk).exists()


def _overturn_or_wait(dispute: MeasurementDispute, contract: ContractVersion, by: User) -> None:
    live = live_settlements().filter(contract_version__engagement=dispute.engagement)
    if live.filter(reason=Settlement.Reason.AGREED).exists():
        return
    if live.filter(state__in=MONEY_MOVED).exists():
        dispute.awaits_booking = True
        dispute.save(update_fields=["awaits_booking"])
        return
    _overturn(dispute, contract, by)


@transaction.atomic
def book(*, dispute: MeasurementDispute, by: User) -> MeasurementDispute:
    """Book a repeat after the refund was sent: one of finance proposes, another one confirms.

    The customer then owes what was refunded, and the fee of a met target. Declined while a
    transfer is with the bank.
    """
    row = locked(dispute)
    require_finance(by)
    if not row.awaits_booking:
        raise ApplicationError("This dispute has nothing to book.", code="dispute.not_to_book")
    if row.booking_proposed_by_id is None:
        row.booking_proposed_by = by
        row.save(update_fields=["booking_proposed_by"])
        record(row, "booking_proposed", f"{by} proposes to book the repeat.", by)
        return row
    second_person.require(
        by=by,
        others=[row.booking_proposed_by_id],
        subject=row.subject,
        code="dispute.booked_by_another",
        message="You proposed this booking: another person of finance confirms it.",
    )
    live = live_settlements().filter(contract_version__engagement=row.engagement)
    if live.filter(state=State.PAYING).exists():
        raise ApplicationError(
            "The refund is with the bank. Book the repeat when it is paid or has failed.",
            code="dispute.refund_in_transit",
        )
    row.awaits_booking, row.booked_by = False, by
    row.save(update_fields=["awaits_booking", "booked_by"])
    contract = versions.contract_in_force(row.engagement)
    assert contract is not None  # a settled engagement has one
    contract.engagement = row.engagement
    _overturn(row, contract, by)
    is_met = row.new_verdict == Verdict.MET
    then = "the fee is due as after a met target" if is_met else "the work continues"
    record(row, "booked", f"The repeat was booked: {then}.", by)
    return row


def _overturn(dispute: MeasurementDispute, contract: ContractVersion, by: User) -> None:
    """Undo a missed target: the settlement ends, its milestones are billed again."""
    engagement, is_met = dispute.engagement, dispute.new_verdict == Verdict.MET
    reason = OVERTURNED if is_met else UNFOUNDED
    rows = list(Settlement.objects.filter(contract_version__engagement=engagement))
    for row in rows:
        row.contract_version.engagement = engagement
        settlements.overturn(row, reason=reason, by=by)
    _reinstate(engagement, _credited_lines(rows), reason)
    if is_met:
        attempts.meet(engagement, contract, dispute.run)
    else:
        final = attempts.acceptance_runs(engagement).filter(final_at__isnull=False)
        final.update(final_at=None, declared_final_by=None)
        _resume(engagement, dispute.run, reason)


def _credited_lines(rows: Iterable[Settlement]) -> list[InvoiceLine]:
    """The invoice lines that the settlements credited, in full or in part."""
    notes = InvoiceLine.objects.filter(invoice__settlements__in=list(rows)).values("corrects")
    lines = InvoiceLine.objects.filter(pk__in=notes).select_related("invoice", "milestone")
    return list(lines.order_by("pk"))


def _reinstate(engagement: Engagement, credited: list[InvoiceLine], why: str) -> None:
    """Reinstate what settlements voided or credited, to be billed again.

    A line credited in part is first credited in full: a milestone is billed by one invoice. Its
    payments stay on the old invoice as an overpayment, or count after a refund.
    """
    by_invoice: dict[Invoice, dict[InvoiceLine, Decimal]] = {}
    for line in credited:
        remaining = credit_notes.creditable(line)[0]
        if line.milestone is not None and remaining > 0:
            by_invoice.setdefault(line.invoice, {})[line] = remaining
    for invoice, parts in by_invoice.items():
        reason = f"{why} It is billed again."
        credit_notes.credit(invoice=invoice, reason=reason, lines=parts)
    voided = {line.milestone_id for line in credited if line.milestone_id}
    for event in Event.objects.filter(engagement=engagement, verb="settlement.proposed"):
        voided |= set(event.changes["voided_milestones"])
    for milestone in Milestone.objects.filter(pk__in=voided, state=Milestone.State.VOID):
        is_released = milestone.released_at is not None
        milestone.state = Milestone.State.RELEASED if is_released else Milestone.State.PENDING
        milestone.billed_at, milestone.billing_reference = None, ""
        milestone.save(update_fields=["state", "billed_at", "billing_reference"])


def _undo_met(engagement: Engagement, contract: ContractVersion, run: EngagementRun) -> None:
    """Undo a met target: the attempt counts as missed, the fee as not earned."""
    postings.target_unmet(contract, dated_on=timezone.localdate())
    attempts.recount(run, contract)
    if attempts.ends_the_work(run):
        settlements.create_proposal(
            engagement=engagement, contract=contract, reason=Settlement.Reason.MISSED
        )
        return
    run.final_at = None
    run.save(update_fields=["final_at"])
    _resume(engagement, run, "The repeat of the acceptance run did not meet the target.")
    _take_back_releases(engagement)


def _resume(engagement: Engagement, run: EngagementRun, why: str) -> None:
    """Move a locked engagement back to active."""
    events.record(
        engagement=engagement,
        verb="engagement.resumed",
        summary=f"{why} The work continues.",
        actor=None,
        changes={**stages.move(engagement, Stage.ACTIVE), "run": run.pk},
        for_customer=True,
    )


def _take_back_releases(engagement: Engagement) -> None:
    """Credit unpaid invoices of the met target, and let their milestones wait for it again."""
    milestones = Milestone.objects.filter(
        contract_version__engagement=engagement,
        contract_version__state=ContractVersion.State.ACCEPTED,
        condition__in=(ReleaseCondition.TARGET_MET, ReleaseCondition.HANDOVER),
    )
    billed = milestones.filter(state=Milestone.State.BILLED)
    lines = InvoiceLine.objects.filter(
        milestone__in=billed, corrects=None, invoice__state=Invoice.State.ISSUED
    ).select_related("invoice")
    for line in lines:
        invoice = balance_of(line.invoice)
        remaining = credit_notes.creditable(line)[0]
        if remaining > 0 and not invoice.payments.exists():
            credit_notes.credit(
                invoice=invoice,
                reason="The repeat of the acceptance run did not meet the target.",
                lines={line: remaining},
                bill_again=True,
            )
    for milestone in milestones.filter(state=Milestone.State.RELEASED):
        milestone.state, milestone.released_at = Milestone.State.PENDING, None
        milestone.save(update_fields=["state", "released_at"])
