"""Rounds that the machine interrupted are left out; neither side gains by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.precision.simulations import interruptions
from benchmarks.verdict.statistics.interruptions import Exclusion, interrupted, uninterrupted
from kernels import protocols
from tests.soak_cases import every

Floats = NDArray[np.float64]
BANDED, FAR_ONLY = Exclusion(band=0.03), Exclusion()
ROOT = Path(__file__).parents[2]


def _times(*us: float) -> Floats:
    return np.array(us)


def test_a_round_some_milliseconds_longer_is_left_out_with_its_pair() -> None:
    # As an H200's host did it: 44 ms a round, one of them 53.5.
    baseline = _times(43.89, 43.91, 47.14, 44.08)
    candidate = _times(44.01, 43.85, 53.52, 43.95)
    assert uninterrupted(baseline, candidate, BANDED).tolist() == [True, True, False, True]


def test_without_a_sealed_band_only_far_rounds_are_left_out() -> None:
    baseline, candidate = _times(44.0, 44.1, 53.5, 43.9), _times(44.0, 44.1, 44.0, 70.0)
    assert uninterrupted(baseline, candidate, FAR_ONLY).tolist() == [True, True, True, False]


def test_what_takes_equally_long_is_left_out_of_both_sides() -> None:
    # Two ms are 2.3% of the baseline's rounds and 4.5% of the candidate's.
    baseline, candidate = _times(88.0, 90.0, 88.1, 88.0, 88.0), _times(44.0, 44.0, 46.0, 44.1, 44.0)
    slow = interrupted(np.tile(baseline, 2), np.tile(candidate, 2), BANDED)
    assert [side.sum() for side in slow] == [0, 0], "four of ten are how it runs"
    baseline, candidate = np.append(baseline, [88.0] * 5), np.append(candidate, [44.0] * 5)
    slow = interrupted(baseline, candidate, BANDED)
    assert [side.nonzero()[0].tolist() for side in slow] == [[1], [2]]


def test_rounds_that_scatter_by_as_much_are_not_interrupted() -> None:
    baseline, candidate = _times(90.0, 110.0, 95.0, 120.0), _times(100.0, 100.1, 109.0, 100.2)
    assert uninterrupted(baseline, candidate, BANDED).all(), "the baseline scatters by more"


def test_a_side_that_is_slow_in_more_than_a_quarter_of_its_rounds_is_judged_by_them() -> None:
    baseline = _times(*[100.0] * 8)
    candidate = _times(50.0, 55.0, 50.0, 55.0, 50.0, 55.0, 50.0, 50.0)
    assert uninterrupted(baseline, candidate, BANDED).all()


def test_times_that_do_not_scatter_at_all_keep_every_round() -> None:
    assert uninterrupted(_times(1.0, 1.0), _times(1.0, 1.0), BANDED).all()


COURSES = dict(zip(("H200", "any GPU"), interruptions.COURSES, strict=True))


def _judged(course: str, *, banded: bool, within: float, chance: float) -> interruptions.Found:
    replicates, rounds, band = COURSES[course]
    return interruptions.judged(
        band if banded else None,
        replicates=replicates,
        rounds=rounds,
        within=within,
        chance=chance,
        runs=400,
    )


@pytest.mark.parametrize(
    ("course", "within"), every(3, [("H200", 0.002), ("any GPU", 0.002), ("any GPU", 0.01)])
)
def test_intervals_hold_the_truth_as_often_and_are_narrower(course: str, within: float) -> None:
    without, with_band = (
        _judged(course, banded=banded, within=within, chance=0.05) for banded in (False, True)
    )
    assert with_band.holds > 0.93
    assert with_band.half_width < 0.7 * without.half_width
    assert abs(with_band.bias) < 0.0015


def test_a_machine_that_interrupts_most_rounds_does_not_move_the_ratio() -> None:
    found = _judged("any GPU", banded=True, within=0.002, chance=0.2)
    assert found.holds > 0.93
    assert abs(found.bias) < 0.002


def test_the_courses_are_those_that_the_readme_shows() -> None:
    readme = (ROOT / "benchmarks/precision/README.md").read_text()
    for (replicates, rounds, _), name in zip(interruptions.COURSES, COURSES, strict=True):
        assert readme.count(f"| {replicates} x {rounds} ({name}) |") == 3


def test_four_rounds_may_lose_one_and_three_none() -> None:
    for far in (_times(44.0, 44.1, 53.5), _times(44.0, 44.1, 90.0)):
        steady = np.full(3, 44.0)
        assert uninterrupted(steady, far, BANDED).all()
        assert uninterrupted(far, steady, BANDED).all()
        before = Exclusion(band=0.03, at_most_a_quarter=False)
        assert uninterrupted(steady, far, before).sum() == 2
        four = uninterrupted(np.full(4, 44.0), np.append(far, 44.0), BANDED)
        assert four.tolist() == [True, True, False, True]


def test_rounds_far_beyond_the_others_are_a_quarter_at_most_too() -> None:
    candidate = _times(*[100.0] * 5, *[5000.0] * 3)
    assert uninterrupted(np.full(8, 300.0), candidate, BANDED).all()
    assert uninterrupted(np.full(8, 300.0), candidate, FAR_ONLY).all()


def test_the_presets_can_lose_a_round() -> None:
    for preset in (protocols.H200, protocols.CUDA, protocols.CPU):
        assert preset.rounds >= 4
