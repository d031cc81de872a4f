"""Working days: Monday to Friday. Public holidays differ by seat, so people add them by hand."""

from __future__ import annotations

from datetime import date, timedelta

SATURDAY = 5


def add_working_days(day: date, count: int) -> date:
    """The `count`th day from Monday to Friday after `day`."""
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < SATURDAY
    return day
