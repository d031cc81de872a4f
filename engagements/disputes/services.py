"""Disputes of a measurement: request a repeat, withdraw, discuss, decide without a repeat."""

from __future__ import annotations

from datetime import date, timedelta

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.billing import reopening
from engagements.charges.models import LIVE
from engagements.common import links, validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.text import strip_invisible
from engagements.common.working_days import add_working_days
from engagements.contracts.clauses.values import measurement_dispute_days
from engagements.disputes.models import DisputeMessage, MeasurementDispute
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.evidence import services as evidence
from engagements.notifications import mails
from engagements.people.models import User
from engagements.runs import bundles
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of

State = MeasurementDispute.State
Party = MeasurementDispute.Party
Repeater = MeasurementDispute.Repeater
MOST_ATTACHMENT_BYTES = 10 * 2**20
# The contract's working days for both parties to agree on an expert.
NAMING_DAYS = 10


def party_of(engagement: Engagement, by: User) -> Party:
    """The party for which `by` acts: a signatory of the customer, or a consultant."""
    if by.is_staff_member:
        access.require_consultant(by)
        return Party.CONSULTANCY
    access.require_signatory(engagement, by)
    return Party.CUSTOMER


def last_day(run: EngagementRun) -> date | None:
    """The last day to dispute a run: the contract's days after its record was shown."""
    contract = run.contract_version
    if contract is None or run.concluded_at is None:
        return None
    days = measurement_dispute_days(contract.dispute_days)
    return timezone.localdate(run.concluded_at) + timedelta(days=days)


def blocking_error(run: EngagementRun) -> ApplicationError | None:
    """Return why a run cannot be disputed, or None."""
    until = last_day(run)
    if run.purpose != EngagementRun.Purpose.ACCEPTANCE or until is None or record_of(run) is None:
        return ApplicationError(
            "Only a measured acceptance run can be disputed.", code="dispute.no_measurement"
        )
    if timezone.localdate() > until:
        return ApplicationError(
            f"The period to dispute this run ended on {in_words(until)}.",
            code="dispute.period_ended",
        )
    if run.engagement.stage == Stage.CANCELLED:
        return ApplicationError("The engagement was cancelled.", code="dispute.cancelled")
    if run.disputes.exclude(state=State.WITHDRAWN).exists():
        return ApplicationError("This run is or was disputed.", code="dispute.already_raised")
    return None


@transaction.atomic
def raise_dispute(
    *, run: EngagementRun, reason: str, repeater: str, by: User, expert: str = ""
) -> MeasurementDispute:
    """Request the repeat of a run by the customer or an expert, within the contract's period.

    The expert is the one of the contract; without one, `expert` names the agreed person.
    """
    engagement = stages.locked(run.engagement_id)
    party = party_of(engagement, by)
    row = EngagementRun.objects.select_related("contract_version", "run__record").get(pk=run.pk)
    error = blocking_error(row)
    if error:
        raise error
    contract = row.contract_version
    assert contract is not None  # blocking_error
    is_expert = repeater == Repeater.EXPERT
    dispute = MeasurementDispute(
        engagement=engagement,
        run=row,
        party=party,
        reason=validation.text(reason, noun="The reason for the dispute"),
        repeater=repeater,
        expert=validation.text(contract.expert or expert, noun="The expert") if is_expert else "",
        raised_by=by,
    )
    validation.save_validated(dispute)
    reopening.reopen(engagement, reason="an acceptance run is disputed", by=by)
    record(
        dispute,
        "raised",
        f"{dispute.get_party_display()} disputes an acceptance run: {dispute.reason} "
        f"{dispute.repeater_name} repeats it. The settlement waits.",
        by,
    )
    return dispute


@transaction.atomic
def withdraw(*, dispute: MeasurementDispute, by: User) -> MeasurementDispute:
    """Withdraw an open dispute, for the party that raised it."""
    row = locked(dispute)
    if party_of(row.engagement, by) != row.party:
        raise ApplicationError(
            "Only the party that raised the dispute withdraws it.", code="dispute.other_party"
        )
    if row.state == State.WITHDRAWN:
        return row
    require_open(row)
    end(row, State.WITHDRAWN, "Withdrawn. The verdict of the run stays.", by)
    return row


@transaction.atomic
def decide(*, dispute: MeasurementDispute, note: str, by: User) -> MeasurementDispute:
    """End a dispute without a repeat: one consultant proposes, another one confirms.

    The verdict of the run stays. Declined before the repeat was awaited for the contract's days,
    and while the customer's repeat `awaits_source`.
    """
    row = locked(dispute)
    access.require_consultant(by)
    require_open(row)
    awaited = repeat_awaited_until(row)
    if timezone.localdate() <= awaited:
        raise ApplicationError(
            f"The repeat may be uploaded until {in_words(awaited)}.", code="dispute.repeat_awaited"
        )
    if awaits_source(row):
        raise ApplicationError(
            "The customer needs the kernel’s source for the repeat. Release it first.",
            code="dispute.source_not_released",
        )
    if row.proposed_by_id is None:
        row.proposed_by, row.outcome = by, validation.text(note, noun="The reason")
        validation.save_validated(row)
        record(row, "decision_proposed", f"{by} proposes to end the dispute: {row.outcome}", by)
        return row
    if row.proposed_by_id == by.pk:
        raise ApplicationError(
            "You proposed this decision: another consultant confirms it.",
            code="dispute.same_person",
        )
    end(row, State.CONFIRMED, f"No repeat was uploaded, the verdict stays: {row.outcome}", by)
    return row


def awaits_source(dispute: MeasurementDispute) -> bool:
    """Whether the customer disputes a run whose source it does not have for the repeat."""
    return (
        dispute.party == Party.CUSTOMER
        and dispute.source_released_at is None
        and not bundles.customer_may_have_source(dispute.run)
    )


def repeat_awaited_until(dispute: MeasurementDispute) -> date:
    """The last day on which only a repeat or a withdrawal ends the dispute.

    Where the contract names no expert, the parties first have `NAMING_DAYS` to agree on one.
    """
    contract = dispute.run.contract_version
    assert contract is not None  # an acceptance run names its contract
    days = measurement_dispute_days(contract.dispute_days)
    since = timezone.localdate(dispute.raised_at)
    if dispute.repeater == Repeater.EXPERT and not contract.expert:
        since = add_working_days(since, NAMING_DAYS)
    return since + timedelta(days=days)


@transaction.atomic
def release_source(*, dispute: MeasurementDispute, by: User) -> MeasurementDispute:
    """Give the candidate's source to the customer's signatories for an open dispute's repeat.

    Idempotent. They pass it to the expert under the contract's confidentiality.
    """
    row = locked(dispute)
    access.require_consultant(by)
    if row.source_released_at is not None:
        return row
    require_open(row)
    row.source_released_at = timezone.now()
    validation.save_validated(row)
    record(row, "source_released", f"{by} released the kernel’s source for the repeat.", by)
    return row


@transaction.atomic
def reimburse(*, dispute: MeasurementDispute, reference: str, by: User) -> MeasurementDispute:
    """Record the invoice or transfer by which one party reimbursed the repeat's cost."""
    row = locked(dispute)
    access.require_finance(by)
    if not row.owes_reimbursement:
        raise ApplicationError(
            "No party owes the cost of this repeat.", code="dispute.nothing_to_reimburse"
        )
    if row.charges.filter(state__in=LIVE).exists():
        raise ApplicationError(
            "The cost of this repeat is charged by an invoice of its own.", code="dispute.charged"
        )
    row.reimbursement = validation.text(reference, noun="The reference")
    validation.save_validated(row)
    record(row, "reimbursed", f"The cost of the repeat was reimbursed: {row.reimbursement}.", by)
    return row


@transaction.atomic
def write(
    *, dispute: MeasurementDispute, text: str, by: User, attachment: UploadedFile | None = None
) -> DisputeMessage:
    """Add a message of either party to an open dispute, with one file of at most 10 MiB."""
    row = locked(dispute)
    party_of(row.engagement, by)
    require_open(row)
    message = DisputeMessage(
        dispute=row, text=validation.text(text, noun="The message"), written_by=by
    )
    if attachment is not None:
        if not 0 < (attachment.size or 0) <= MOST_ATTACHMENT_BYTES:
            raise ApplicationError(
                "Choose a file with content, of at most 10 MiB.", code="dispute.attachment_size"
            )
        message.name = strip_invisible(attachment.name or "")[:200] or "attachment"
        message.digest, message.size_bytes, message.file = evidence.store(attachment)
    validation.save_validated(message)
    record(row, "message", f"{by} wrote in the dispute of an acceptance run.", by)
    return message


def locked(dispute: MeasurementDispute) -> MeasurementDispute:
    """The dispute read again under its engagement's lock."""
    engagement = stages.locked(dispute.engagement_id)
    row = MeasurementDispute.objects.select_related("run__contract_version").get(pk=dispute.pk)
    row.engagement = engagement
    return row


def require_open(dispute: MeasurementDispute) -> None:
    """Require an open dispute."""
    if not dispute.is_open:
        raise ApplicationError("This dispute has ended.", code="dispute.ended")


def end(dispute: MeasurementDispute, state: State, outcome: str, by: User) -> None:
    """End a locked dispute and record its event."""
    dispute.state, dispute.outcome = state, outcome
    dispute.ended_by, dispute.ended_at = by, timezone.now()
    validation.save_validated(dispute)
    record(dispute, state.value, f"Dispute of an acceptance run: {outcome}", by)


def record(dispute: MeasurementDispute, verb: str, summary: str, by: User) -> None:
    """Record an event of a dispute, and mail the lead about the customer's steps.

    Signatories and finance are mailed by the event.
    """
    event = events.record(
        engagement=dispute.engagement,
        verb=f"measurement_dispute.{verb}",
        summary=summary,
        actor=by,
        changes={
            "dispute": dispute.pk,
            "run": dispute.run_id,
            "state": dispute.state,
            "cost": "" if dispute.cost is None else str(dispute.cost),
            "cost_bearer": dispute.cost_bearer,
        },
        for_customer=verb not in ("decision_proposed", "booking_proposed"),
    )
    if not by.is_staff_member:
        engagement = dispute.engagement
        url = links.to_page("run-dispute", engagement.reference, dispute.run_id)
        mails.write(
            key=f"measurement-dispute:{engagement.pk}:{event.position}",
            engagement=engagement,
            recipient=engagement.lead.email,
            subject=f"Disputed run: {engagement.title}",
            body=f"{engagement.title}\n\n{summary}\n\nOpen the dispute: {url}\n",
        )
