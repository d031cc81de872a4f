"""Numbers in sentences: short, and never on the wrong side of a line."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engagements.audit.rules import Interval, phrases


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0%"),
        (0.00001, "under 0.01%"),
        (0.0025, "0.25%"),
        (0.0499, "4.99%"),
        (0.0496, "4.96%"),
        (0.05, "5%"),
        (0.29, "29%"),
        (0.7367, "73.7%"),
        (0.9999, "99.99%"),
        (1.0, "100%"),
    ],
)
def test_a_share_is_said_in_percent(share: float, said: str) -> None:
    assert phrases.percent(share) == said


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.004, "1.004×"),
        (1.08, "1.08×"),
        (1.996, "1.996×"),
        (2.0, "2×"),
        (2.604, "2.6×"),
        (17.23, "17.2×"),
        (195.3, "195×"),
    ],
)
def test_a_ratio_is_said_in_times(ratio: float, said: str) -> None:
    assert phrases.times(ratio) == said


@given(percent=st.integers(1, 100), below=st.floats(1e-7, 1e-3))
def test_what_is_under_a_line_is_not_said_to_be_on_it(percent: int, below: float) -> None:
    under = percent / 100 - below
    if under * 100 < percent - 1e-5 and under > 0.0001:
        assert phrases.percent(under) != f"{percent}%"


def test_intervals_weeks_money_and_volumes() -> None:
    assert phrases.percents(Interval(low=0.06, high=0.08)) == "6 to 8%"
    assert phrases.times_each(Interval(low=1.5, high=2.0)) == "1.5 to 2×"
    assert phrases.weeks(1.0) == "1 week"
    assert phrases.weeks(9.4) == "9.4 weeks"
    assert phrases.weeks(104) == "2 years"
    assert phrases.hours(8.333) == "8.3 hours"
    assert phrases.money(Decimal("60000"), "EUR") == "EUR 60,000"
    assert phrases.volume(168_427_520) == "168 MB"
    assert phrases.listed(["a", "b", "c"]) == "a, b and c"
