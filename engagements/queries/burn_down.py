"""How a time-box runs down: day by day, without the days on which its clock stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from engagements.models import ContractVersion, TimeBox
from engagements.services import time_box


@dataclass(frozen=True)
class BurnDown:
    """The first and last day, the days on which the clock stands, today, and the hours put in by
    day."""

    starts_on: date
    ends_on: date
    paused: frozenset[date]
    today: date
    hours: Mapping[date, Decimal] = field(default_factory=dict)

    @property
    def days(self) -> list[date]:
        """Every calendar day of the time-box."""
        length = (self.ends_on - self.starts_on).days + 1
        return [self.starts_on + timedelta(days=number) for number in range(length)]

    def left_after(self, day: date) -> int:
        """How many days of the clock are left when `day` is over."""
        return sum(each > day and each not in self.paused for each in self.days)

    @property
    def left(self) -> int:
        """How many days of the clock are left, today among them."""
        return self.left_after(self.today - timedelta(days=1))

    @property
    def used(self) -> int:
        """How many days of the clock are over."""
        return self.total - self.left

    @property
    def total(self) -> int:
        """How many days the clock runs in all."""
        return len(self.days) - len(self.paused & set(self.days))

    @property
    def is_paused(self) -> bool:
        """Whether the clock stands today."""
        return self.today in self.paused

    @property
    def told(self) -> str:
        """The picture in words."""
        hours = sum(self.hours.values(), Decimal(0))
        paused = f", {len(self.paused)} days paused" if self.paused else ""
        return (
            f"{self.left} days of the clock are left until "
            f"{self.ends_on.day} {self.ends_on:%B %Y}{paused}; "
            f"{hours.normalize():f} hours are noted."
        )


def burn_down_of(
    box: TimeBox,
    contract: ContractVersion | None,
    *,
    today: date,
    hours: Mapping[date, Decimal] | None = None,
) -> BurnDown:
    """The time-box of `box` with the pauses of `contract`, the version in force."""
    pauses = contract.pauses.all() if contract else ()
    return BurnDown(
        starts_on=box.starts_on,
        ends_on=box.ends_on,
        paused=frozenset(time_box.paused_days(pauses)),
        today=today,
        hours=hours or {},
    )
