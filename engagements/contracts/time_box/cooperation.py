"""Requests for the customer's cooperation, and the last day of the time-box that they move."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.contracts import versions
from engagements.contracts.time_box.models import CooperationRequest, TimeBox
from engagements.contracts.time_box.services import last_day
from engagements.contracts.time_box.waiting import paused_from, stops
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User


@transaction.atomic
def ask(*, engagement: Engagement, item: str, by: User) -> CooperationRequest:
    """Ask the customer for something that the work needs. The signatories are mailed."""
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.ACTIVE, to="to ask for cooperation")
    request = CooperationRequest(
        engagement=row,
        item=validation.text(item, noun="The request"),
        asked_by=by,
        asked_on=timezone.localdate(),
    )
    validation.save_validated(request)
    start = in_words(paused_from(request))
    events.record(
        engagement=row,
        verb="cooperation.asked",
        summary=f"{by} asked for: {_short(request)}. Until it is provided the time-box is paused "
        f"from {start}.",
        actor=by,
        changes={"request": request.pk, "paused_from": paused_from(request).isoformat()},
        for_customer=True,
    )
    return request


def _short(request: CooperationRequest) -> str:
    return request.item[:140].rstrip(".")


@transaction.atomic
def provide(
    *, request: CooperationRequest, by: User, address: str | None = None
) -> CooperationRequest:
    """Record today as the day on which the item was provided, by either party. Idempotent."""
    engagement = stages.locked(request.engagement_id)
    if by.is_staff_member:
        access.require_consultant(by)
    else:
        access.require_signatory(engagement, by)
    row = CooperationRequest.objects.get(pk=request.pk)
    if row.provided_on is not None:
        return row
    row.provided_on, row.provided_by = timezone.localdate(), by
    validation.save_validated(row)
    follow(engagement)
    events.record(
        engagement=engagement,
        verb="cooperation.provided",
        summary=f"Provided: {_short(row)}.",
        actor=by,
        address=address,
        changes={"request": row.pk, "provided_on": str(row.provided_on)},
        for_customer=True,
    )
    return row


def following() -> list[Engagement]:
    """Active engagements with an open request, whose last day moves while they wait."""
    waiting = CooperationRequest.objects.filter(provided_on__isnull=True)
    return list(Engagement.objects.filter(stage=Stage.ACTIVE, cooperation_requests__in=waiting))


@transaction.atomic
def follow_waiting(*, engagement: Engagement) -> None:
    """Move the last day of an active engagement that waits for the customer."""
    row = stages.locked(engagement.pk)
    if row.stage == Stage.ACTIVE:
        follow(row)


def follow(engagement: Engagement) -> None:
    """Move the last day to that of the agreed pauses and the requests, under the lock."""
    box = TimeBox.objects.filter(engagement=engagement).first()
    contract = versions.contract_in_force(engagement)
    if box is None or contract is None:
        return
    pauses = list(contract.pauses.all())
    waiting = stops(engagement, pauses, today=timezone.localdate())
    box.ends_on = last_day(box.starts_on, contract.weeks, [*pauses, *waiting])
    validation.save_validated(box)
