"""Hours of consultants against a time-box: what a fixed fee came to an hour."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from engagements import access
from engagements.days import in_words
from engagements.errors import Refused
from engagements.models import Engagement, TimeBox, TimeEntry, User
from engagements.services import checked, events, lifecycle

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
    row = lifecycle.locked(engagement.pk)
    lifecycle.require_consultant(by)
    known = TimeEntry.objects.filter(request_key=request_key).first()
    if known:
        noted = (known.engagement_id, known.consultant_id, known.worked_on, known.hours)
        if noted != (row.pk, by.pk, worked_on, hours):
            raise Refused("This request was made before, for something else.")
        return known
    _require_in_the_time_box(row, worked_on)
    # Two engagements at once must not make a day of 30 hours.
    User.objects.select_for_update().get(pk=by.pk)
    that_day = TimeEntry.objects.filter(consultant=by, worked_on=worked_on)
    already = that_day.aggregate(hours=Sum("hours"))["hours"] or Decimal(0)
    if already + hours > HOURS_A_DAY:
        raise Refused(f"{already.normalize():f} hours of {in_words(worked_on)} are noted already.")
    entry = TimeEntry(engagement=row, consultant=by, worked_on=worked_on, hours=hours)
    entry.note, entry.request_key = checked.text(note, noun="What was done"), request_key
    checked.save(entry)
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
    row = lifecycle.locked(entry.engagement_id)
    found = TimeEntry.objects.filter(pk=entry.pk).select_related("consultant").first()
    if found is None:
        return
    if found.consultant != by and not access.is_admin(by):
        raise Refused(f"{found.consultant} noted these hours and takes them back.")
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
        raise Refused("Hours are noted once the contract is in force.")
    if worked_on < box.starts_on:
        raise Refused(f"The time-box started on {in_words(box.starts_on)}.")
    if worked_on > timezone.localdate():
        raise Refused("Hours are noted when they were worked, not before.")
