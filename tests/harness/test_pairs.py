"""What is taken off a round for its fixed cost is what a round costs."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.harness import lanes, pairs
from benchmarks.harness.pairs import Course
from benchmarks.harness.phases import Phases
from tests.harness.softmax import Measure

EMPTY_US, BUSY_US = 400.0, 5_500.0
CALLS_US = {"baseline": 40_000.0, "candidate": 20_000.0}
CALLS = 10


class _Lane:
    """A side whose empty rounds take as long as `empty` says in turn.

    `beside_us` is what its other rounds cost beside their calls.
    """

    tally = SimpleNamespace(as_data=dict)
    reading = None

    def __init__(self, role: str, empty: Iterator[float], beside_us: float | None) -> None:
        self._role, self._empty = role, empty
        self._beside_us = EMPTY_US if beside_us is None else beside_us
        self.has_parts = beside_us is not None

    def empty_round_us(self) -> float:
        return next(self._empty)

    def round_us(self) -> float:
        return CALLS_US[self._role] + self._beside_us

    def part_us(self) -> float:
        assert self._role == "baseline", "a candidate could slow them"
        return CALLS_US[self._role] * (CALLS // 4) / CALLS + self._beside_us

    def call_bytes(self) -> int:
        return 8


def _measured(*medians_us: float, beside_us: float | None = None) -> dict[str, Any]:
    """An entry of four rounds, with the median of each side's empty rounds before, then after."""
    state: Any = SimpleNamespace(layout=SimpleNamespace(nbytes=64))
    setting: Any = SimpleNamespace(phases=Phases())
    each = pairs._EMPTY_ROUNDS if beside_us is None else pairs._EMPTY_ROUNDS_BESIDE_PARTS
    lanes: Any = {
        role: _Lane(role, iter([us for us in medians_us for _ in range(each)]), beside_us)
        for role in CALLS_US
    }
    seen: list[float] = []
    pair = pairs._Pair(setting, lanes, state, Course(rounds=4))
    return pair.rounds(CALLS, lambda index, baseline_us, candidate_us: seen.append(baseline_us))


def test_a_machine_busy_before_or_after_the_rounds_takes_no_more_off_them() -> None:
    for medians_us in ((BUSY_US, EMPTY_US), (EMPTY_US, BUSY_US)):
        entry = _measured(*medians_us)
        assert entry["overhead_us"] == EMPTY_US
        for taken in entry["rounds"]:
            assert taken["baseline_us"] == CALLS_US["baseline"] / CALLS
            assert taken["candidate_us"] == CALLS_US["candidate"] / CALLS


def test_rounds_that_cost_more_than_empty_ones_are_told_by_those_of_a_part_of_the_calls() -> None:
    entry = _measured(EMPTY_US, EMPTY_US, beside_us=960.0)
    assert entry["overhead_us"] == pytest.approx(960.0)
    for taken in entry["rounds"]:
        assert taken["baseline_us"] / taken["candidate_us"] == pytest.approx(2.0)


def test_rounds_of_a_part_are_checked_like_any_other(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "_spares_a_processor", lambda device: True)
    record = measure("honest", rounds=2)
    assert record["summary"]["verdict"] != "disqualified"
    assert all(
        workload["overhead_us"] > 0
        for replicate in record["replicates"]
        for workload in replicate["workloads"]
    )
