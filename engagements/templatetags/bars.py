"""Bars: a ratio against its target, a time-box against today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django import template

from engagements.contracts.time_box.burn_down import BurnDown
from engagements.contracts.time_box.models import Pause
from engagements.contracts.time_box.services import DAYS_A_WEEK
from engagements.contracts.time_box.waiting import WaitingStop
from engagements.templatetags.show import ratio as ratio_text
from engagements.templatetags.show import tone_of

register = template.Library()

Number = float | Decimal
# The width of the label of 1× in percent of the narrowest bar with labels.
ROOM_FOR_A_LABEL = 24


@dataclass(frozen=True)
class RatioBar:
    """A ratio with its interval on an axis from 0 to twice the target; x in percent.

    The target is in the middle of every bar, so that bars of different targets compare. What lies
    beyond the axis ends at its edge, with an arrow.
    """

    ratio: float | None
    low: float | None
    high: float | None
    target: float
    tone: str
    is_small: bool
    shows_figures: bool

    def _share(self, value: float | None) -> float:
        return 0.0 if value is None else min(50 * max(value, 0) / self.target, 100)

    @property
    def ratio_x(self) -> str:
        return f"{self._share(self.ratio):.2f}"

    @property
    def low_x(self) -> str:
        return f"{self._share(self.low):.2f}"

    @property
    def target_x(self) -> str:
        return f"{self._share(self.target):.2f}"

    @property
    def even_x(self) -> str:
        return f"{self._share(1.0):.2f}"

    @property
    def even_anchor(self) -> str:
        """The side of its line on which the label of 1× has room."""
        return "end" if self._share(1.0) > ROOM_FOR_A_LABEL else "start"

    @property
    def is_beyond(self) -> bool:
        """Whether the ratio lies beyond the axis."""
        return self.ratio is not None and self.ratio > 2 * self.target

    @property
    def interval_width(self) -> str:
        return f"{self._share(self.high) - self._share(self.low):.2f}"

    @property
    def top(self) -> int:
        return 5 if self.is_small else 7

    @property
    def thickness(self) -> int:
        return 8 if self.is_small else 10

    @property
    def middle(self) -> int:
        return self.top + self.thickness // 2

    @property
    def bottom(self) -> int:
        return self.top + self.thickness + 4

    @property
    def radius(self) -> float:
        return 4 if self.is_small else 5

    @property
    def words(self) -> str:
        """The text alternative."""
        goal = f"target {ratio_text(self.target)}"
        if self.ratio is None:
            return f"No estimate yet, {goal}"
        interval = ""
        if self.low is not None:
            interval = f", interval {ratio_text(self.low)} to {ratio_text(self.high)}"
        return f"Ratio {ratio_text(self.ratio)}{interval}, {goal}"


@register.inclusion_tag("fragments/_ratio_bar.html")
def ratio_bar(
    ratio: Number | None,
    low: Number | None,
    high: Number | None,
    target: Number,
    verdict: str = "running",
    small: bool = False,
    figures: bool = True,
) -> dict[str, RatioBar]:
    """A ratio with its interval against the target; `verdict` decides the colour."""
    return {
        "bar": RatioBar(
            ratio=_float(ratio),
            low=_float(low),
            high=_float(high),
            target=float(target),
            tone=tone_of(verdict),
            is_small=small,
            shows_figures=figures,
        )
    }


@dataclass(frozen=True)
class PauseMark:
    """A pause on the time-box bar: position in percent, and its text."""

    x: str
    width: str
    words: str


@dataclass(frozen=True)
class TimeboxBar:
    """A time-box on one day, on an axis of calendar days."""

    clock: BurnDown
    is_decided: bool = False

    def _percent(self, days: int) -> float:
        return min(max(100 * days / len(self.clock.days), 0), 100)

    @property
    def x(self) -> str:
        """Elapsed share of the calendar in percent, without today."""
        return f"{self._percent((self.clock.today - self.clock.starts_on).days):.1f}"

    @property
    def tone(self) -> str:
        clock = self.clock
        if self.is_decided or not clock.has_started or clock.is_paused:
            return "plain"
        if clock.is_over:
            return "bad"
        return "doubt" if clock.left <= DAYS_A_WEEK else "live"

    @property
    def left(self) -> str:
        """The current week, or the number of weeks."""
        clock = self.clock
        if self.is_decided or not clock.has_started or clock.is_over:
            return f"{clock.weeks} weeks"
        return f"week {clock.week} of {clock.weeks}"

    @property
    def right(self) -> str:
        """Remaining days, including today and the last one."""
        clock = self.clock
        if self.is_decided:
            return "decided"
        if not clock.has_started:
            return f"starts in {_days((clock.starts_on - clock.today).days)}"
        if clock.is_over:
            return f"ran out {_days((clock.today - clock.ends_on).days)} ago"
        if clock.is_paused:
            return f"paused, {_days(clock.left)} left"
        return "last day" if clock.today == clock.ends_on else f"{_days(clock.left)} left"

    @property
    def pauses(self) -> list[PauseMark]:
        """Marks of the pauses."""
        return [
            PauseMark(x=f"{low:.1f}", width=f"{high - low:.1f}", words=_pause(pause))
            for pause in self.clock.pauses
            for low, high in [
                (
                    self._percent((pause.starts_on - self.clock.starts_on).days),
                    self._percent((pause.ends_on - self.clock.starts_on).days + 1),
                )
            ]
            if high > low
        ]

    @property
    def notes(self) -> list[str]:
        """Current and coming pauses with their reason."""
        if self.is_decided:
            return []
        until = [
            f"Paused since {_date(pause.starts_on)}: waiting for {pause.waits_for}. "
            f"Resumes on {_date(self.clock.resumes_on)}."
            for pause in self.clock.stopping
        ]
        return until + [f"Planned: {_pause(pause)}." for pause in self.clock.ahead]

    @property
    def words(self) -> str:
        """The text alternative."""
        pauses = "".join(f"; {mark.words}" for mark in self.pauses)
        return f"Time-box: {self.left}, {self.right}{pauses}"


@register.inclusion_tag("fragments/_timebox_bar.html")
def timebox_bar(clock: BurnDown, is_decided: bool = False) -> dict[str, TimeboxBar]:
    """The time-box up to the day of `clock`; `is_decided` once the target was met or missed."""
    return {"bar": TimeboxBar(clock, is_decided)}


def _pause(pause: Pause | WaitingStop) -> str:
    return (
        f"paused from {_date(pause.starts_on)} to {_date(pause.ends_on)}, "
        f"waiting for {pause.waits_for}"
    )


def _date(day: date) -> str:
    return f"{day.day} {day:%B}"


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def _float(value: Number | None) -> float | None:
    return None if value is None else float(value)
