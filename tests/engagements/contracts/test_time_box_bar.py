"""The bar of a time-box agrees with its clock and shows its pauses."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from engagements.contracts.time_box import services as time_box
from engagements.contracts.time_box.burn_down import BurnDown
from engagements.contracts.time_box.models import Pause, TimeBox
from engagements.templatetags import bars

STARTS = date(2026, 3, 2)


def pause(first: int, last: int, waits_for: str = "Longprompt AG") -> Pause:
    """From the day `first` after the start to the day `last`."""
    return Pause(
        starts_on=STARTS + timedelta(days=first),
        ends_on=STARTS + timedelta(days=last),
        waits_for=waits_for,
        reason="The weights come later.",
    )


def bar(day: int, *pauses: Pause, is_decided: bool = False) -> bars.TimeboxBar:
    """Six weeks, looked at on one day."""
    ends_on = time_box.last_day(STARTS, 6, pauses)
    clock = BurnDown(STARTS, ends_on, pauses, today=STARTS + timedelta(days=day))
    return bars.TimeboxBar(clock, is_decided)


@pytest.mark.parametrize(
    ("day", "week", "said", "tone"),
    [
        (-3, "6 weeks", "starts in 3 days", "plain"),
        (-1, "6 weeks", "starts in 1 day", "plain"),
        (0, "week 1 of 6", "42 days left", "live"),
        (20, "week 3 of 6", "22 days left", "live"),
        (34, "week 5 of 6", "8 days left", "live"),
        (35, "week 6 of 6", "7 days left", "doubt"),
        (41, "week 6 of 6", "last day", "doubt"),
        (42, "6 weeks", "ran out 1 day ago", "bad"),
    ],
)
def test_a_time_box_says_what_is_left_and_its_last_day_counts(
    day: int, week: str, said: str, tone: str
) -> None:
    shown = bar(day)
    assert (shown.left, shown.right, shown.tone) == (week, said, tone)


def test_a_decided_time_box_counts_no_days_and_waits_for_nobody() -> None:
    shown = bar(5, pause(4, 9), is_decided=True)
    assert (shown.right, shown.tone, shown.notes) == ("decided", "plain", [])


def test_paused_days_are_no_days_of_the_clock() -> None:
    stopped = pause(7, 13)
    assert (bar(7, stopped).left, bar(7, stopped).right) == ("week 2 of 6", "paused, 35 days left")
    assert bar(13, stopped).right == "paused, 35 days left"
    assert (bar(14, stopped).left, bar(14, stopped).right) == ("week 2 of 6", "35 days left")
    assert bar(48, stopped).right == "last day"
    assert bar(49, stopped).right == "ran out 1 day ago"


def test_a_pause_is_noted_with_its_days_and_reason() -> None:
    stopped = pause(7, 13)
    for day, dates in ((8, ("9 March", "16 March")), (6, ("9 March", "15 March"))):
        [note] = bar(day, stopped).notes
        assert all(text in note for text in (*dates, "Longprompt AG"))
    assert bar(14, stopped).notes == []


def test_the_clock_runs_again_after_the_last_of_several_pauses() -> None:
    shown = bar(8, pause(7, 9), pause(9, 11, "the data centre"), pause(12, 13, "the lawyers"))
    assert "16 March" in shown.notes[0]
    assert bar(9, pause(7, 9), pause(9, 11, "the data centre")).clock.waited_for == (
        "Longprompt AG and the data centre"
    )


def test_pauses_are_drawn_in_place_and_have_a_text_alternative() -> None:
    shown = bar(20, pause(7, 13), pause(28, 34, "the data centre"))
    assert [(pause.x, pause.width) for pause in shown.pauses] == [
        (f"{100 * 7 / 56:.1f}", f"{100 * 7 / 56:.1f}"),
        (f"{100 * 28 / 56:.1f}", f"{100 * 7 / 56:.1f}"),
    ]
    assert shown.words == (
        "Time-box: week 2 of 6, 29 days left"
        "; paused from 9 March to 15 March, waiting for Longprompt AG"
        "; paused from 30 March to 5 April, waiting for the data centre"
    )


def test_a_pause_outside_of_the_time_box_is_not_drawn() -> None:
    ends_on = STARTS + timedelta(days=41)
    clock = BurnDown(STARTS, ends_on, [pause(50, 55)], today=STARTS)
    assert bars.TimeboxBar(clock).pauses == []
    assert bars.TimeboxBar(clock).notes == []
    assert clock.total == 42


def test_a_stored_time_box_and_its_bar_end_on_the_same_day() -> None:
    stopped = pause(40, 45)
    box = TimeBox(starts_on=STARTS, ends_on=time_box.last_day(STARTS, 6, [stopped]))
    clock = BurnDown(box.starts_on, box.ends_on, [stopped], today=box.ends_on)
    assert clock.left == 1
    assert len(time_box.clock(box, [stopped])) == clock.total
