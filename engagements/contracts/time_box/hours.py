"""Record consultants' hours, and the fixed fee for each of them."""

from __future__ import annotations

from dataclasses import dataclass
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
from engagements.common.money import quantize
from engagements.contracts.models import ContractVersion
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
    """Record hours that `by` worked on one day, at most 24 over all engagements.

    The day may lie before the time-box, as far back as the engagement was opened.

    A repeated `request_key` returns the first entry.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    existing = TimeEntry.objects.filter(request_key=request_key).first()
    if existing:
        entered = (
            existing.engagement_id,
            existing.consultant_id,
            existing.worked_on,
            existing.hours,
        )
        if entered != (row.pk, by.pk, worked_on, hours):
            raise ApplicationError(
                "This form was sent before with other values. Reload the page.",
                code="time_entry.other_request",
            )
        return existing
    _require_day(row, worked_on)
    # Entries in two engagements at once must not exceed 24 hours.
    User.objects.select_for_update().get(pk=by.pk)
    that_day = TimeEntry.objects.filter(consultant=by, worked_on=worked_on)
    already = that_day.aggregate(hours=Sum("hours"))["hours"] or Decimal(0)
    if already + hours > HOURS_A_DAY:
        raise ApplicationError(
            f"Enter at most {(HOURS_A_DAY - already).normalize():f} hours for "
            f"{in_words(worked_on)}.",
            code="time_entry.day_full",
        )
    entry = TimeEntry(engagement=row, consultant=by, worked_on=worked_on, hours=hours)
    entry.note, entry.request_key = validation.text(note, noun="The work"), request_key
    validation.save_validated(entry)
    events.record(
        engagement=row,
        verb="time.noted",
        summary=f"{by} recorded {hours.normalize():f} hours on {in_words(worked_on)}.",
        actor=by,
        changes={"entry": entry.pk, "hours": str(hours), "worked_on": str(worked_on)},
    )
    return entry


@transaction.atomic
def remove(*, entry: TimeEntry, by: User) -> None:
    """Remove an entry, by its consultant or an admin. Does nothing the second time."""
    row = stages.locked(entry.engagement_id)
    found = TimeEntry.objects.filter(pk=entry.pk).select_related("consultant").first()
    if found is None:
        return
    if found.consultant != by and not access.is_admin(by):
        raise ApplicationError(
            f"Only {found.consultant} or an admin may remove these hours.",
            code="time_entry.other_consultant",
        )
    found.delete()
    events.record(
        engagement=row,
        verb="time.removed",
        summary=f"{found.hours.normalize():f} hours of {found.consultant} on "
        f"{in_words(found.worked_on)} were removed.",
        actor=by,
        changes={"hours": str(found.hours), "worked_on": str(found.worked_on), "note": found.note},
    )


def _require_day(engagement: Engagement, worked_on: date) -> None:
    if not TimeBox.objects.filter(engagement=engagement).exists():
        raise ApplicationError(
            "Record hours once the contract is in force.", code="time_entry.no_time_box"
        )
    # The work before the contract, such as the audit, counts too.
    opened_on = timezone.localdate(engagement.opened_at)
    if worked_on < opened_on:
        raise ApplicationError(
            f"Enter a day from {in_words(opened_on)} on, when the engagement was opened.",
            code="time_entry.before_engagement",
        )
    if worked_on > timezone.localdate():
        raise ApplicationError("Enter today or an earlier day.", code="time_entry.in_the_future")


@dataclass(frozen=True)
class ConsultantHours:
    """One consultant's hours."""

    consultant: User
    hours: Decimal


@dataclass(frozen=True)
class Hours:
    """All hours of an engagement. `rate` is the net fee per hour, None before the first."""

    entries: list[TimeEntry]
    by_consultant: list[ConsultantHours]
    by_day: dict[date, Decimal]
    total: Decimal
    rate: Decimal | None
    currency: str


def hours_of(engagement: Engagement, contract: ContractVersion) -> Hours:
    """The hours of `engagement` against the fee of `contract`, the version in force."""
    entries = list(engagement.time_entries.select_related("consultant"))
    sums = engagement.time_entries.order_by().values("consultant").annotate(hours=Sum("hours"))
    people = {entry.consultant_id: entry.consultant for entry in entries}
    worked = [ConsultantHours(people[row["consultant"]], row["hours"]) for row in sums]
    by_day: dict[date, Decimal] = {}
    for entry in entries:
        by_day[entry.worked_on] = by_day.get(entry.worked_on, Decimal(0)) + entry.hours
    total = sum((each.hours for each in worked), Decimal(0))
    return Hours(
        entries=entries,
        by_consultant=sorted(worked, key=lambda each: -each.hours),
        by_day=by_day,
        total=total,
        rate=quantize(contract.fee / total, contract.currency) if total else None,
        currency=contract.currency,
    )
