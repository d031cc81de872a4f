"""Figures drawn as bars: a ratio against its target, a time-box against today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django import template
from django.utils import timezone

from engagements.models import TimeBox
from engagements.templatetags.show import ratio as ratio_text
from engagements.templatetags.show import tone_of

register = template.Library()

Number = float | Decimal


@dataclass(frozen=True)
class RatioBar:
    """A ratio with its interval on an axis from 0 to a little past the target; x in percent."""

    ratio: float | None
    low: float | None
    high: float | None
    target: float
    tone: str
    is_small: bool
    shows_figures: bool

    @property
    def end(self) -> float:
        """The right end of the axis."""
        furthest = max(value for value in (self.high, self.ratio, 0.0) if value is not None)
        return max(self.target * 1.3, furthest * 1.06, 1.3)

    def _x(self, value: float | None) -> str:
        return "0" if value is None else f"{100 * max(value, 0) / self.end:.2f}"

    @property
    def ratio_x(self) -> str:
        return self._x(self.ratio)

    @property
    def low_x(self) -> str:
        return self._x(self.low)

    @property
    def target_x(self) -> str:
        return self._x(self.target)

    @property
    def even_x(self) -> str:
        return self._x(1.0)

    @property
    def is_crowded(self) -> bool:
        """The lines of 1 and of the target stand too near for two words between them."""
        return self.target - 1 < 0.25 * self.end

    @property
    def interval_width(self) -> str:
        return self._x(None if self.high is None or self.low is None else self.high - self.low)

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
        """What the picture shows, for those who do not see it."""
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


@register.inclusion_tag("fragments/_timebox_bar.html")
def timebox_bar(time_box: TimeBox, is_over: bool = False) -> dict[str, dict[str, object]]:
    """The time-box used up to today (UTC); `is_over` once the target was met or missed."""
    return {"bar": timebox_state(time_box, timezone.now().date(), is_over=is_over)}


def timebox_state(time_box: TimeBox, today: date, *, is_over: bool = False) -> dict[str, object]:
    """Percent used, tone and words of a time-box on one day; its last day still counts."""
    length = (time_box.ends_on - time_box.starts_on).days + 1
    used = (today - time_box.starts_on).days
    left = (time_box.ends_on - today).days
    percent = min(max(100 * used / length, 0), 100)
    weeks = round(length / 7)
    if is_over:
        return _timebox(percent, "plain", f"{weeks} weeks", "decided")
    if used < 0:
        return _timebox(0, "plain", f"{weeks} weeks", f"starts in {_days(-used)}")
    if left < 0:
        return _timebox(100, "bad", f"{weeks} weeks", f"ran out {_days(-left)} ago")
    words = "last day" if left == 0 else f"{_days(left)} left"
    tone = "doubt" if left < 7 else "live"
    return _timebox(percent, tone, f"week {used // 7 + 1} of {weeks}", words)


def _timebox(percent: float, tone: str, left: str, right: str) -> dict[str, object]:
    return {"percent": f"{percent:.1f}", "tone": tone, "left": left, "right": right}


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def _float(value: Number | None) -> float | None:
    return None if value is None else float(value)
