"""What a round costs beside its calls is found whatever it is."""

from __future__ import annotations

import pytest

from benchmarks.harness.rounds.fixed_costs import FixedCost, part_of

EMPTY_US, CALL_US = 750.0, 900.0


def _cost(beside_us: float, calls: int) -> float:
    """What is taken off rounds that cost `beside_us` beside their calls."""
    part = part_of(calls)
    assert part is not None
    parts_us = [beside_us + part * CALL_US] * 3 + [1e6]
    return FixedCost(EMPTY_US, parts_us).off_us([beside_us + calls * CALL_US] * 4, calls)


@pytest.mark.parametrize("calls", [4, 5, 47, 4870])
def test_partial_rounds_reveal_the_cost_of_long_rounds(calls: int) -> None:
    assert _cost(960.0, calls) == pytest.approx(960.0, rel=1e-6)


def test_no_less_is_taken_off_than_an_empty_round_costs() -> None:
    assert _cost(600.0, 40) == EMPTY_US


def test_rounds_of_too_few_calls_have_no_part() -> None:
    assert [part_of(calls) for calls in (1, 3, 4)] == [None, None, 1]
    assert FixedCost(EMPTY_US).off_us([10_000.0], 3) == EMPTY_US
