"""The time-box: calendar weeks from its start, longer by every day on which the clock stood."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Protocol

from django.utils import timezone

from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import versions
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement.models import Engagement
from engagements.event_log import events

DAYS_A_WEEK = 7


class Stop(Protocol):
    """Days on which the clock stands still, both included: a Pause, or one being drafted."""

    @property
    def starts_on(self) -> date: ...

    @property
    def ends_on(self) -> date: ...


def last_day(starts_on: date, weeks: int, pauses: Iterable[Stop]) -> date:
    """The last day of `weeks` calendar weeks from `starts_on`, not counting paused days.

    The last day counts: a week that starts on a Monday ends on the Sunday.
    """
    stopped = paused_days(pauses)
    left, day = weeks * DAYS_A_WEEK, starts_on
    while True:
        left -= day not in stopped
        if not left:
            return day
        day += timedelta(days=1)


def paused_days(pauses: Iterable[Stop]) -> set[date]:
    """Every day on which the clock stands still, once, however many pauses hold it."""
    return {
        pause.starts_on + timedelta(days=number)
        for pause in pauses
        for number in range((pause.ends_on - pause.starts_on).days + 1)
    }


def clock(box: TimeBox, pauses: Iterable[Stop]) -> list[date]:
    """The days of the time-box on which the clock runs, first to last."""
    stopped, length = paused_days(pauses), (box.ends_on - box.starts_on).days + 1
    days = (box.starts_on + timedelta(days=number) for number in range(length))
    return [day for day in days if day not in stopped]


def ends_on(engagement: Engagement) -> date:
    """The last day of the time-box. TimeBox.DoesNotExist before the contract is in force."""
    return TimeBox.objects.get(engagement=engagement).ends_on


def settles_on(engagement: Engagement) -> date:
    """The first day on which a settlement follows by itself: the time-box and then the dispute
    window of the contract in force are over."""
    contract = versions.contract_in_force(engagement)
    window = contract.dispute_days if contract else 0
    return ends_on(engagement) + timedelta(days=window + 1)


def start(*, contract: ContractVersion, starts_on: date) -> TimeBox:
    """Set the clock going, under the engagement's lock."""
    box = TimeBox(engagement=contract.engagement, starts_on=starts_on)
    box.ends_on = last_day(starts_on, contract.weeks, contract.pauses.all())
    validation.save_validated(box)
    events.record(
        engagement=contract.engagement,
        verb="time_box.started",
        summary="The contract is in force. "
        f"The time-box runs from {in_words(box.starts_on)} to {in_words(box.ends_on)}.",
        actor=None,
        changes={"starts_on": str(box.starts_on), "ends_on": str(box.ends_on)},
        for_customer=True,
    )
    return box


def move(*, contract: ContractVersion) -> TimeBox:
    """Give the time-box the last day that an amendment in force gives it, under the lock.

    Refused where that would end it in the past: a pause that ends earlier, accepted too late.
    """
    box = TimeBox.objects.get(engagement=contract.engagement)
    before = box.ends_on
    box.ends_on = last_day(box.starts_on, contract.weeks, contract.pauses.all())
    if box.ends_on == before:
        return box
    if box.ends_on < min(before, timezone.localdate()):
        raise ApplicationError(
            f"With this amendment the time-box would have ended on {in_words(box.ends_on)} "
            "already: it is withdrawn and drafted anew.",
            code="contracts.todo",
        )
    validation.save_validated(box)
    events.record(
        engagement=contract.engagement,
        verb="time_box.moved",
        summary=f"The time-box ends on {in_words(box.ends_on)} instead of {in_words(before)}.",
        actor=None,
        changes={"ends_on": [str(before), str(box.ends_on)]},
        for_customer=True,
    )
    return box
