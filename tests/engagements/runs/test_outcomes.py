"""The table of outcomes: each verdict, day, attempts left, pause, amendment and dispute."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product

import pytest

from benchmarks.verdict.explanations import is_noise
from engagements.common.dates import in_words
from engagements.engagement.models import Stage
from engagements.runs.outcomes import DISAGREED, FAILED, Money, Situation, outcome_of

LAST_DAY = date(2027, 1, 3)
DAYS = {"before": LAST_DAY - timedelta(days=9), "last": LAST_DAY, "after": LAST_DAY + timedelta(1)}
# verdict: whether it counts as an attempt
VERDICTS = {
    "met": True,
    "missed": True,
    "inconclusive": True,
    "inconclusive, not counted": False,
    "inconclusive for noise": False,
    "inconclusive for noise, repeats used up": True,
    "disqualified": True,
    "invalid": False,
    "crashed": True,
    DISAGREED: True,
    FAILED: False,
}
LEFT = ("more", "last", "declared final")
FLAGS = (False, True)
ROWS = list(product(VERDICTS, DAYS, LEFT, FLAGS, FLAGS, FLAGS))


def situation(verdict: str, day: str, left: str, **flags: bool) -> Situation:
    for_noise = "noise" in verdict
    return Situation(
        verdict=verdict.partition(",")[0].split()[0],
        today=DAYS[day],
        last_day=LAST_DAY,
        attempts=3,
        attempts_before=2 if left == "last" else 1,
        repeats=2,
        repeats_before=2 if "used up" in verdict else 0,
        counts_inconclusive=verdict != "inconclusive, not counted",
        is_noise=for_noise,
        is_final=left == "declared final" and VERDICTS[verdict] and verdict != "met",
        **flags,
    )


def expected_money(stage: Stage, day: str, *, is_disputed: bool) -> Money:
    if stage == Stage.MET:
        return Money.RELEASED
    if stage == Stage.MISSED:
        return Money.ON_HOLD if is_disputed else Money.SETTLED
    if day == "after":
        return Money.ON_HOLD if is_disputed else Money.AFTER_TIME_BOX
    return Money.NONE


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_row_has_its_stage_money_and_words(verdict: str) -> None:
    for _, day, left, is_paused, has_offer, is_disputed in (r for r in ROWS if r[0] == verdict):
        row = situation(
            verdict, day, left, is_paused=is_paused, has_offer=has_offer, is_disputed=is_disputed
        )
        outcome = outcome_of(row)
        counts, is_last = VERDICTS[verdict], left != "more"
        # A repeat may still decide the last attempt.
        awaits_repeat = verdict == DISAGREED and left == "last"
        is_last &= not awaits_repeat
        ends = Stage.MET if verdict == "met" else Stage.MISSED
        stage = ends if counts and (is_last or verdict == "met") else Stage.ACTIVE
        number = (3 if left == "last" else 2) if counts else None
        money = expected_money(stage, day, is_disputed=is_disputed)
        assert (outcome.stage, outcome.money, outcome.attempt) == (stage, money, number), row
        assert outcome.repeats_noise == (verdict == "inconclusive for noise")
        assert (f"attempt {number} of 3" in outcome.text) == counts
        assert ("disputed" in outcome.text) == (money == Money.ON_HOLD)
        assert ("refunded" in outcome.text) == (stage == Stage.MISSED)
        goes_on = stage == Stage.ACTIVE
        names_day = day != "after" if awaits_repeat else day == "before"
        assert (in_words(LAST_DAY) in outcome.text) == (goes_on and names_day)
        assert ("today" in outcome.text) == (goes_on and day == "last" and not awaits_repeat)
        assert ("paused" in outcome.text) == (goes_on and day != "after" and is_paused)
        assert ("amendment" in outcome.text) == (goes_on and day == "after" and has_offer)


def test_the_table_has_every_row_once() -> None:
    assert len(ROWS) == len(set(ROWS)) == 11 * 3 * 3 * 2 * 2 * 2


def test_the_headline_names_the_verdict_and_its_consequence() -> None:
    headlines = {name: outcome_of(situation(name, "before", "more")).headline for name in VERDICTS}
    assert headlines["inconclusive"] == "Inconclusive: counts as missed"
    assert len(set(headlines.values())) == len(VERDICTS) - 1  # with repeats used up as without


def test_a_second_disqualification_names_the_right_to_end_the_contract() -> None:
    row = situation("disqualified", "before", "more")
    again = Situation(**{**vars(row), "disqualified_before": 1})
    assert "for cause" not in outcome_of(row).text
    assert "for cause" in outcome_of(again).text


@pytest.mark.parametrize("is_disputed", FLAGS)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_after_a_termination_only_a_met_target_decides(verdict: str, is_disputed: bool) -> None:
    for day, left in product(DAYS, LEFT):
        row = situation(verdict, day, left, is_terminated=True, is_disputed=is_disputed)
        outcome = outcome_of(row)
        if verdict == "met":
            assert (outcome.stage, outcome.money) == (Stage.MET, Money.RELEASED), row
            continue
        assert (outcome.stage, outcome.money) == (Stage.TERMINATED, Money.TERMINATED), row
        assert "stay due" in outcome.text
        assert "refunded" not in outcome.text
        assert "requested" not in outcome.text
        assert ("undoes" in outcome.text) == is_disputed


def test_an_attempt_of_the_past_decided_nothing() -> None:
    row = Situation(**{**vars(situation("missed", "after", "more")), "is_past": True})
    assert outcome_of(row).money == Money.NONE


@pytest.mark.parametrize(
    ("verdict", "low", "high", "answer"),
    [
        ("inconclusive", 1.9, 2.1, False),
        ("inconclusive", 2.0, 2.1, True),
        ("inconclusive", 1.7, 1.9, True),
        ("missed", 1.7, 1.9, False),
        ("inconclusive", None, None, False),
    ],
)
def test_noise_is_an_inconclusive_run_whose_interval_excludes_the_target(
    verdict: str, low: float | None, high: float | None, answer: bool
) -> None:
    assert is_noise(verdict, low, high, 2.0) is answer
