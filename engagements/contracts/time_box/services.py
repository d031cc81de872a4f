"""The time-box: calendar weeks from its start, extended by every paused day."""

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
from engagements.contracts.time_box.waiting import stops
from engagements.engagement.models import Engagement
from engagements.event_log import events

DAYS_A_WEEK = 7


class Stop(Protocol):
    """Days on which the clock is stopped, both included: a Pause or a PauseDraft."""

    @property
    def starts_on(self) -> date: ...

    @property
    def ends_on(self) -> date: ...


def last_day(starts_on: date, weeks: int, pauses: Iterable[Stop]) -> date:
    """The last day of `weeks` calendar weeks from `starts_on`, not counting paused days.

    The last day counts: a week that starts on a Monday ends on the Sunday.
    """
    paused = paused_days(pauses)
    left, day = weeks * DAYS_A_WEEK, starts_on
    while True:
        left -= day not in paused
        if not left:
            return day
        day += timedelta(days=1)


def paused_days(pauses: Iterable[Stop]) -> set[date]:
    """Every paused day, once, also where pauses overlap."""
    return {
        pause.starts_on + timedelta(days=number)
        for pause in pauses
        for number in range((pause.ends_on - pause.starts_on).days + 1)
    }


def clock(box: TimeBox, pauses: Iterable[Stop]) -> list[date]:
    """The days of the time-box on which the clock runs, first to last."""
    paused, length = paused_days(pauses), (box.ends_on - box.starts_on).days + 1
    days = (box.starts_on + timedelta(days=number) for number in range(length))
    return [day for day in days if day not in paused]


def ends_on(engagement: Engagement) -> date:
    """The last day of the time-box. TimeBox.DoesNotExist before the contract is in force."""
    return TimeBox.objects.get(engagement=engagement).ends_on


def settles_on(engagement: Engagement) -> date:
    """The first day on which a settlement is proposed automatically: the time-box and then the
    dispute window of the contract in force are over."""
    contract = versions.contract_in_force(engagement)
    window = contract.dispute_days if contract else 0
    return ends_on(engagement) + timedelta(days=window + 1)


def start(*, contract: ContractVersion, starts_on: date) -> TimeBox:
    """Start the time-box, under the engagement's lock."""
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
    """Move the last day to that of the amendment in force, under the engagement's lock.

    Raises ApplicationError for a day in the past: a shortened pause, accepted too late.
    """
    box = TimeBox.objects.get(engagement=contract.engagement)
    before = box.ends_on
    pauses = list(contract.pauses.all())
    waiting = stops(contract.engagement, pauses, today=timezone.localdate())
    box.ends_on = last_day(box.starts_on, contract.weeks, [*pauses, *waiting])
    if box.ends_on == before:
        return box
    if box.ends_on < min(before, timezone.localdate()):
        raise ApplicationError(
            f"This amendment would end the time-box on {in_words(box.ends_on)}, in the past. "
            "Withdraw it and draft it again.",
            code="amendment.ends_in_the_past",
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
