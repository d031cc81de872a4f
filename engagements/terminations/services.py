"""Terminations: record the notice, confirm it with its calculation, undo it by a repeat."""

from __future__ import annotations

from datetime import date

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.billing import credit_notes
from engagements.billing.models import Invoice
from engagements.charges import services as charges
from engagements.charges.models import LIVE, Charge
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.working_days import add_working_days
from engagements.contracts import versions
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import termination
from engagements.contracts.time_box.burn_down import burn_down_of
from engagements.contracts.time_box.models import CooperationRequest, TimeBox
from engagements.contracts.time_box.termination import Termination
from engagements.contracts.time_box.waiting import terminable_from
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User
from engagements.runs import attempts
from engagements.runs.models import EngagementRun
from engagements.settlements.disputes import is_measurement_disputed
from engagements.terminations import postings

Kind, State = Charge.Kind, Charge.State
# The contract's working days: of notice for convenience, and to remedy a breach after its notice.
NOTICE_DAYS, REMEDY_DAYS = 5, 10
UNDONE = "The repeat of a disputed acceptance run met the target before the termination."


@transaction.atomic
def propose(
    *,
    engagement: Engagement,
    kind: str,
    notice_on: date,
    reason: str,
    by: User,
    request: CooperationRequest | None = None,
    breach_noticed_on: date | None = None,
) -> Charge:
    """Record a notice of termination and calculate what it makes due. Idempotent.

    For convenience it takes effect `NOTICE_DAYS` working days after the notice, for a cause of the
    customer on its day. The cause is an item that was not provided, or a breach that was not
    remedied within `REMEDY_DAYS` working days after its notice.
    """
    row = stages.locked(engagement.pk)
    access.require_finance(by)
    known = row.charges.filter(kind__in=Charge.TERMINATIONS, state__in=LIVE).first()
    if known is not None:
        if (known.kind, known.notice_on) == (kind, notice_on):
            return known
        raise ApplicationError(
            "A termination of this contract is recorded already.", code="termination.recorded"
        )
    contract = _terminable(row)
    _require_notice(row, contract, kind, notice_on)
    if kind == Kind.CAUSE:
        _require_cause(row, notice_on, request, breach_noticed_on)
    figures = calculate(contract, kind=kind, notice_on=notice_on)
    return charges.save(
        Charge(
            engagement=row,
            contract_version=contract,
            kind=kind,
            amount=figures.total - figures.released,
            title=f"Termination: {figures.days} of {figures.all_days} days of the time-box",
            reason=validation.text(reason, noun="The reason"),
            notice_on=notice_on,
            ends_on=figures.on,
            request=request if kind == Kind.CAUSE else None,
            breach_noticed_on=breach_noticed_on if kind == Kind.CAUSE else None,
            released=figures.released,
            elapsed_days=figures.days,
            all_days=figures.all_days,
            proposed_by=by,
        )
    )


@transaction.atomic
def approve(*, charge: Charge, by: User) -> Charge:
    """Confirm a termination as a second person, from the day on which it takes effect.

    The engagement ends as terminated: released milestones stay due, the others become void, and
    the charge is due. Declined where the calculation has changed since the proposal. Idempotent.
    """
    row = charges.locked(charge)
    access.require_finance(by)
    if not second_person.may_decide(row, to=State.APPROVED, by=by):
        return row
    contract = _terminable(row.engagement)
    if error := approval_error(row):
        raise error
    second_person.decide(row, to=State.APPROVED, by=by)
    charges.record(row, by)
    _terminate(row, contract, by)
    return row


def approval_error(charge: Charge) -> ApplicationError | None:
    """Why a proposed termination cannot be confirmed yet, or not any more; None if it can."""
    assert charge.ends_on is not None
    assert charge.notice_on is not None  # a constraint
    if timezone.localdate() < charge.ends_on:
        return ApplicationError(
            f"The notice runs until {in_words(charge.ends_on)}: confirm it from then on.",
            code="termination.notice_running",
        )
    if error := blocking_error(charge.engagement):
        return error
    contract = versions.contract_in_force(charge.engagement)
    assert contract is not None  # an active engagement has one
    figures = calculate(contract, kind=charge.kind, notice_on=charge.notice_on)
    now = (figures.released, figures.days, figures.all_days, figures.total - figures.released)
    if now != (charge.released, charge.elapsed_days, charge.all_days, charge.amount):
        return ApplicationError(
            "Milestones or the time-box changed since the proposal: void it and propose it again.",
            code="termination.outdated",
        )
    return None


def blocking_error(engagement: Engagement) -> ApplicationError | None:
    """Why a contract cannot be terminated now, or None."""
    if engagement.stage != Stage.ACTIVE:
        return ApplicationError("The work has ended.", code="engagement.wrong_stage")
    if versions.open_acceptance_run(engagement):
        return ApplicationError(
            "An acceptance run is in progress. Terminate the contract when it has ended.",
            code="run.acceptance_in_progress",
        )
    if is_measurement_disputed(engagement):
        return ApplicationError(
            "An acceptance run is disputed. Terminate the contract when the dispute has ended.",
            code="termination.run_disputed",
        )
    return None


def calculate(contract: ContractVersion, *, kind: str, notice_on: date) -> Termination:
    """What a termination with this notice makes due, by the contract's clause."""
    box = TimeBox.objects.get(engagement=contract.engagement_id)
    is_for_convenience = kind == Kind.CONVENIENCE
    day = add_working_days(notice_on, NOTICE_DAYS) if is_for_convenience else notice_on
    clock = burn_down_of(box, contract, today=timezone.localdate())
    return termination.on_day(contract, clock, day, is_for_convenience=is_for_convenience)


def undo(
    engagement: Engagement, contract: ContractVersion, run: EngagementRun, *, by: User
) -> None:
    """Undo the termination of a locked engagement: a repeat shows that the target was met before.

    Its invoice is credited in full, its milestones wait again, and the target is met.
    """
    charge = engagement.charges.get(kind__in=Charge.TERMINATIONS, state=State.APPROVED)
    event = engagement.events.filter(verb="engagement.terminated").order_by("position").last()
    voided = event.changes["voided_milestones"] if event else []
    charge.invoices.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.DRAFT).delete()
    for invoice in charge.invoices.filter(kind=Invoice.Kind.INVOICE).order_by("pk"):
        if credit_notes.credited_net(invoice) < invoice.net:
            credit_notes.credit(invoice=invoice, reason=UNDONE)
    charge.engagement = charge.contract_version.engagement = engagement
    charges.end(charge, UNDONE, by)
    for milestone in Milestone.objects.filter(pk__in=voided, state=Milestone.State.VOID):
        milestone.state = Milestone.State.PENDING
        milestone.save(update_fields=["state"])
    attempts.meet_by_repeat(engagement, contract, run)


def _terminate(charge: Charge, contract: ContractVersion, by: User) -> None:
    engagement = charge.engagement
    pending = Milestone.objects.filter(
        contract_version__engagement=engagement,
        contract_version__sealed_at__isnull=False,
        state=Milestone.State.PENDING,
    )
    voided = list(pending.order_by("pk"))
    for milestone in voided:
        milestone.state = Milestone.State.VOID
        milestone.save(update_fields=["state"])
    engagement.contracts.filter(state=ContractVersion.State.OFFERED).update(
        state=ContractVersion.State.WITHDRAWN
    )
    assert charge.ends_on is not None  # a constraint
    events.record(
        engagement=engagement,
        verb="engagement.terminated",
        summary=f"{charge.get_kind_display()}, effective {in_words(charge.ends_on)}. Released "
        "milestones stay due; no settlement is made.",
        actor=by,
        changes={
            **stages.move(engagement, Stage.TERMINATED),
            "charge": charge.pk,
            "voided_milestones": [milestone.pk for milestone in voided],
        },
        for_customer=True,
    )
    postings.terminated(charge, contract)


def _terminable(engagement: Engagement) -> ContractVersion:
    if error := blocking_error(engagement):
        raise error
    contract = versions.contract_in_force(engagement)
    assert contract is not None  # an active engagement has one
    contract.engagement = engagement
    return contract


def _require_notice(
    engagement: Engagement, contract: ContractVersion, kind: str, notice_on: date
) -> None:
    if kind not in Charge.TERMINATIONS:
        raise ApplicationError("Choose a reason for the end.", code="termination.unknown_kind")
    if kind == Kind.CONVENIENCE and not contract.convenience:
        raise ApplicationError(
            "This contract excludes termination for convenience.",
            code="termination.no_convenience",
        )
    agreed = versions.agreed_on(engagement)
    if notice_on < agreed or notice_on > timezone.localdate():
        raise ApplicationError(
            f"Enter the day of the notice: from {in_words(agreed)}, the day of the contract, to "
            "today.",
            code="termination.notice_date",
        )


def _require_cause(
    engagement: Engagement,
    notice_on: date,
    request: CooperationRequest | None,
    breach_noticed_on: date | None,
) -> None:
    if (request is None) == (breach_noticed_on is None):
        raise ApplicationError(
            "Choose the missing item, or enter the day on which you gave notice of the breach.",
            code="termination.one_cause",
        )
    if request is not None:
        row = engagement.cooperation_requests.filter(pk=request.pk).first()
        if row is None or row.provided_on is not None:
            raise ApplicationError(
                "Choose an item that the customer has not provided.", code="termination.provided"
            )
        first = terminable_from(row)
    else:
        assert breach_noticed_on is not None
        agreed = versions.agreed_on(engagement)
        if breach_noticed_on < agreed:
            raise ApplicationError(
                f"The contract is of {in_words(agreed)}: its breach was noticed after.",
                code="termination.notice_date",
            )
        first = add_working_days(breach_noticed_on, REMEDY_DAYS + 1)
    if notice_on < first:
        raise ApplicationError(
            f"The customer has time until then: terminate from {in_words(first)}.",
            code="termination.too_early",
        )
