from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.verdict.statistics.estimates import Estimates, estimate

Floats = NDArray[np.float64]


def _constant(value: float, rounds: int = 5) -> Floats:
    return np.full(rounds, value)


def _estimate(samples: dict[str, list[tuple[Floats, Floats]]], **weights: float) -> Estimates:
    chosen = weights or dict.fromkeys(samples, 1.0)
    return estimate(samples, chosen, confidence=0.95)


def test_constant_samples_have_a_point_for_an_interval() -> None:
    found = _estimate({"a": [(_constant(300.0), _constant(100.0))] * 3}).overall
    assert (found.ratio, found.low, found.high) == pytest.approx((3.0, 3.0, 3.0))


def test_the_ratio_is_of_weighted_totals_and_no_mean_of_ratios() -> None:
    samples = {
        "short": [(_constant(10.0), _constant(1.0))] * 2,
        "long": [(_constant(1000.0), _constant(1000.0))] * 2,
    }
    found = _estimate(samples, short=0.5, long=0.5)
    assert found.overall.ratio == pytest.approx(1010 / 1001)
    assert found.workloads["short"].ratio == pytest.approx(10.0)
    assert found.workloads["long"].ratio == pytest.approx(1.0)


def test_a_workload_that_carries_more_traffic_counts_for_more() -> None:
    samples = {
        "a": [(_constant(200.0), _constant(100.0))],
        "b": [(_constant(100.0), _constant(100.0))],
    }
    assert _estimate(samples, a=0.75, b=0.25).overall.ratio == pytest.approx(175 / 100)


def test_the_interval_is_students_over_replicates() -> None:
    # By hand: pulls 2.1/2 - 1, 1.9/2 - 1, 0; their standard error is 0.05 / sqrt(3).
    samples = {"a": [(_constant(b), _constant(1.0)) for b in (2.1, 1.9, 2.0)]}
    found = _estimate(samples).overall
    reach = math.exp(4.302652729 * 0.05 / math.sqrt(3))
    assert (found.low, found.high) == pytest.approx((2.0 / reach, 2.0 * reach))


def test_of_one_replicate_the_interval_is_that_of_its_rounds() -> None:
    samples = {"a": [(np.array([2.1, 1.9, 2.0]), _constant(1.0, 3))]}
    found = _estimate(samples).overall
    reach = math.exp(4.302652729 * 0.05 / math.sqrt(3))
    assert (found.low, found.high) == pytest.approx((2.0 / reach, 2.0 * reach))
    with pytest.raises(ValueError, match="one round of one replicate"):
        _estimate({"a": [(_constant(2.0, 1), _constant(1.0, 1))]})


def test_replicates_that_disagree_widen_the_interval() -> None:
    agreeing = {"a": [(_constant(200.0), _constant(100.0))] * 4}
    differing = {
        "a": [(_constant(b), _constant(100.0)) for b in (150.0, 180.0, 220.0, 250.0)],
    }
    one, other = _estimate(agreeing).overall, _estimate(differing).overall
    assert one.high - one.low == pytest.approx(0.0)
    assert other.low < 1.8
    assert other.high > 2.2


def test_replicates_may_have_different_numbers_of_rounds() -> None:
    samples = {
        "a": [(_constant(2.0, 3), _constant(1.0, 3)), (_constant(2.0, 8), _constant(1.0, 8))]
    }
    assert _estimate(samples).overall.ratio == pytest.approx(2.0)


@pytest.mark.parametrize(("between", "within"), [(0.03, 0.002), (0.002, 0.05), (0.02, 0.05)])
def test_the_interval_holds_the_truth_as_often_as_it_says(between: float, within: float) -> None:
    random = np.random.RandomState(3)
    held = 0
    runs = 400
    for _ in range(runs):
        replicates = []
        for _ in range(4):
            paces = 1 + between * random.randn(2)
            noise = 1 + within * random.randn(2, 10)
            replicates.append((200 * paces[0] * noise[0], 100 * paces[1] * noise[1]))
        found = estimate({"a": replicates}, {"a": 1.0}, confidence=0.95).overall
        held += found.low <= 2.0 <= found.high
    # Three standard errors of a count below what it says.
    assert held >= (0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)) * runs


@pytest.mark.parametrize(
    "samples",
    [
        {},
        {"a": []},
        {"a": [(_constant(1.0), _constant(1.0))], "b": []},
    ],
)
def test_missing_samples_are_refused(samples: dict[str, list[tuple[Floats, Floats]]]) -> None:
    with pytest.raises(ValueError, match="every workload"):
        _estimate(samples)
