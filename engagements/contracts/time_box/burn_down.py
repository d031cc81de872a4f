"""The days of a time-box, used and left, without its paused days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property

from engagements.common.dates import in_words
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.contracts.time_box.models import Pause, TimeBox
from engagements.contracts.time_box.waiting import WaitingStop, stops


@dataclass(frozen=True)
class BurnDown:
    """A time-box on the day `today`, with the pauses of the version in force and the hours worked
    on each day."""

    starts_on: date
    ends_on: date
    pauses: Sequence[Pause | WaitingStop]
    today: date
    hours: Mapping[date, Decimal] = field(default_factory=dict)

    @cached_property
    def days(self) -> list[date]:
        """Every calendar day of the time-box."""
        length = (self.ends_on - self.starts_on).days + 1
        return [self.starts_on + timedelta(days=number) for number in range(length)]

    @cached_property
    def paused(self) -> frozenset[date]:
        """The paused days of the time-box."""
        return frozenset(time_box.paused_days(self.pauses)) & set(self.days)

    def left_after(self, day: date) -> int:
        """Days of the clock left at the end of `day`."""
        return sum(each > day and each not in self.paused for each in self.days)

    @property
    def left(self) -> int:
        """Days of the clock left, including today."""
        return self.left_after(self.today - timedelta(days=1))

    @property
    def used(self) -> int:
        """Days of the clock used."""
        return self.total - self.left

    @property
    def total(self) -> int:
        """Days of the clock in all."""
        return len(self.days) - len(self.paused)

    @property
    def week(self) -> int:
        """The current week of the clock, from 1; the last one once it is over."""
        return min(self.used // time_box.DAYS_A_WEEK + 1, self.weeks)

    @property
    def weeks(self) -> int:
        """Weeks of the clock in all."""
        return -(-self.total // time_box.DAYS_A_WEEK)

    @property
    def has_started(self) -> bool:
        """Whether the first day has come."""
        return self.today >= self.starts_on

    @property
    def is_over(self) -> bool:
        """Whether the last day is over."""
        return self.today > self.ends_on

    @property
    def is_paused(self) -> bool:
        """Whether today is paused."""
        return self.today in self.paused

    @property
    def stopping(self) -> list[Pause | WaitingStop]:
        """The pauses that include today."""
        current = (pause for pause in self.pauses if pause.starts_on <= self.today <= pause.ends_on)
        return list(current) if self.is_paused else []

    @property
    def ahead(self) -> list[Pause | WaitingStop]:
        """The pauses after today."""
        return [pause for pause in self.pauses if self.today < pause.starts_on <= self.ends_on]

    @property
    def resumes_on(self) -> date:
        """The next day that is not paused. There is one: the last day never is."""
        return next(day for day in self.days if day >= self.today and day not in self.paused)

    @property
    def waited_for(self) -> str:
        """The party whose contribution is awaited today."""
        return " and ".join(pause.waits_for for pause in self.stopping)

    @property
    def why_paused(self) -> str:
        """The reasons of today's pauses, and when the clock runs again."""
        return (
            f"The time-box is paused and resumes on {in_words(self.resumes_on)}. "
            f"Reason: {' '.join(pause.reason for pause in self.stopping)}"
        )

    @property
    def description(self) -> str:
        """The chart in words."""
        hours = sum(self.hours.values(), Decimal(0))
        paused = f", {len(self.paused)} days paused" if self.paused else ""
        return (
            f"{self.left} days left until {in_words(self.ends_on)}{paused}; "
            f"{hours.normalize():f} hours recorded."
        )


def burn_down_of(
    box: TimeBox,
    contract: ContractVersion | None,
    *,
    today: date,
    hours: Mapping[date, Decimal] | None = None,
) -> BurnDown:
    """The burn-down of `box` with the pauses of `contract`, the version in force, and the stops of
    requests to the customer."""
    agreed = list(contract.pauses.all()) if contract else []
    pauses: list[Pause | WaitingStop] = [*agreed]
    waiting = stops(box.engagement, agreed, today=today) if contract else ()
    ends_on = box.ends_on
    if contract is not None and waiting:
        pauses = sorted([*pauses, *waiting], key=lambda each: each.starts_on)
        # The sweep moves the stored day; today may be paused since.
        ends_on = time_box.last_day(box.starts_on, contract.weeks, pauses)
    return BurnDown(
        starts_on=box.starts_on,
        ends_on=ends_on,
        pauses=pauses,
        today=today,
        hours=hours or {},
    )
