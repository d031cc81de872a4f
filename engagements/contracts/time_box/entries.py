"""Hours of consultants against a time-box: what a fixed fee came to an hour."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts.time_box.models import TimeBox, TimeEntry
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import User

HOURS_A_DAY = 24


@transaction.atomic
def add(
    *,
    engagement: Engagement,
    worked_on: date,
    hours: Decimal,
    note: str,
    request_key: UUID,
    by: User,
) -> TimeEntry:
    """Note hours that `by` worked on one day of the time-box. The same `request_key` is the same
    entry. Over all engagements a day has 24 hours."""
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    known = TimeEntry.objects.filter(request_key=request_key).first()
    if known:
        noted = (known.engagement_id, known.consultant_id, known.worked_on, known.hours)
        if noted != (row.pk, by.pk, worked_on, hours):
            raise ApplicationError(
                "This request was made before, for something else.", code="contracts.todo"
            )
        return known
    _require_in_the_time_box(row, worked_on)
    # Two engagements at once must not make a day of 30 hours.
    User.objects.select_for_update().get(pk=by.pk)
    that_day = TimeEntry.objects.filter(consultant=by, worked_on=worked_on)
    already = that_day.aggregate(hours=Sum("hours"))["hours"] or Decimal(0)
    if already + hours > HOURS_A_DAY:
        raise ApplicationError(
            f"{already.normalize():f} hours of {in_words(worked_on)} are noted already.",
            code="contracts.todo",
        )
    entry = TimeEntry(engagement=row, consultant=by, worked_on=worked_on, hours=hours)
    entry.note, entry.request_key = validation.text(note, noun="What was done"), request_key
    validation.save_validated(entry)
    events.record(
        engagement=row,
        verb="time.noted",
        summary=f"{by} noted {hours.normalize():f} hours of {in_words(worked_on)}.",
        actor=by,
        changes={"entry": entry.pk, "hours": str(hours), "worked_on": str(worked_on)},
    )
    return entry


@transaction.atomic
def remove(*, entry: TimeEntry, by: User) -> None:
    """Take back an entry, for whoever wrote it and for admins. Gone already, nothing happens."""
    row = stages.locked(entry.engagement_id)
    found = TimeEntry.objects.filter(pk=entry.pk).select_related("consultant").first()
    if found is None:
        return
    if found.consultant != by and not access.is_admin(by):
        raise ApplicationError(
            f"{found.consultant} noted these hours and takes them back.", code="contracts.todo"
        )
    found.delete()
    events.record(
        engagement=row,
        verb="time.removed",
        summary=f"{found.hours.normalize():f} hours of {in_words(found.worked_on)} by "
        f"{found.consultant} were taken back.",
        actor=by,
        changes={"hours": str(found.hours), "worked_on": str(found.worked_on), "note": found.note},
    )


def _require_in_the_time_box(engagement: Engagement, worked_on: date) -> None:
    box = TimeBox.objects.filter(engagement=engagement).first()
    if box is None:
        raise ApplicationError(
            "Hours are noted once the contract is in force.", code="contracts.todo"
        )
    if worked_on < box.starts_on:
        raise ApplicationError(
            f"The time-box started on {in_words(box.starts_on)}.", code="contracts.todo"
        )
    if worked_on > timezone.localdate():
        raise ApplicationError(
            "Hours are noted when they were worked, not before.", code="contracts.todo"
        )
