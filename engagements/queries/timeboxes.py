"""How far a time-box has run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from django.utils import timezone

from engagements.models import TimeBox


@dataclass(frozen=True)
class Progress:
    """A time-box on one day. Both its first and its last day count.

    `day` is 0 before it starts and `days` at its end; `share` is day / days; `days_left`
    counts today. `state` is "ahead", "running" or "over".
    """

    starts_on: date
    ends_on: date
    day: int
    days: int
    share: float
    days_left: int
    state: str


def time_box_progress(time_box: TimeBox, *, today: date | None = None) -> Progress:
    """How far `time_box` has run on `today` (UTC's today unless given)."""
    on = today or timezone.localdate()
    days = (time_box.ends_on - time_box.starts_on + timedelta(days=1)).days
    day = min(max((on - time_box.starts_on).days + 1, 0), days)
    state = "ahead" if on < time_box.starts_on else "over" if on > time_box.ends_on else "running"
    return Progress(
        starts_on=time_box.starts_on,
        ends_on=time_box.ends_on,
        day=day,
        days=days,
        share=day / days,
        days_left=0 if state == "over" else days - max(day - 1, 0),
        state=state,
    )
