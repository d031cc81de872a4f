"""Filters for rows and columns."""

from __future__ import annotations

import pytest

from engagements.audit.rules import Interval
from engagements.templatetags import show


def test_a_share_in_a_column_has_one_decimal() -> None:
    assert [show.tenths(value) for value in (0.73666, 1.0, 0.0, None)] == [
        "73.7%",
        "100.0%",
        "0.0%",
        "–",
    ]


def test_an_interval_is_from_where_to_where_and_one_figure_where_both_are_the_same() -> None:
    assert show.interval(Interval(low=1.4, high=1.8)) == "1.40× to 1.80×"
    assert show.interval(Interval(low=2.001, high=2.002)) == "2.00×"
    assert show.interval(None) == "–"


def test_cells_follow_their_columns_without_loss() -> None:
    assert show.beside(["a", 1], ["name", "value"]) == [("a", "name"), (1, "value")]
    with pytest.raises(ValueError, match="longer"):
        show.beside(["a"], ["name", "value"])
