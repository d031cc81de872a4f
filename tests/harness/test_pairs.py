"""What is taken off a round for its fixed cost is what a round costs."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.harness.rounds import pairs, workload_side
from benchmarks.harness.rounds.phases import Phases
from benchmarks.harness.rounds.plans import RoundPlan
from tests.harness.softmax import Measure

EMPTY_US, BUSY_US = 400.0, 5_500.0
CALLS_US = {"baseline": 40_000.0, "candidate": 20_000.0}
CALLS = 10
# What a round costs less of who was the last to run.
WARM_US = 0.0


class _Lane:
    """A side whose empty rounds take as long as `empty` says in turn.

    `beside_us` is what its other rounds cost beside their calls.
    """

    totals = SimpleNamespace(as_data=dict, rms=dict)
    reading = None

    def __init__(
        self, role: str, empty: Iterator[float], beside_us: float | None, ran: list[str]
    ) -> None:
        self._role, self._empty, self._ran = role, empty, ran
        self._beside_us = EMPTY_US if beside_us is None else beside_us
        self.has_parts = beside_us is not None

    def empty_round_us(self) -> float:
        return next(self._empty)

    def round_us(self) -> float:
        return CALLS_US[self._role] + self._beside()

    def repeated_us(self) -> float:
        return self.round_us() + self.round_us()

    def part_us(self) -> float:
        # A candidate could slow its own parts.
        slowed_us = 5e4 if self._role == "candidate" else 0.0
        return CALLS_US[self._role] * (CALLS // 4) / CALLS + self._beside() + slowed_us

    def _beside(self) -> float:
        warm_us = WARM_US if self._ran and self._ran[-1] == self._role else 0.0
        self._ran.append(self._role)
        return self._beside_us - warm_us

    def call_bytes(self) -> int:
        return 8


def _empty_rounds(usual_us: tuple[float, ...], each: int) -> list[float]:
    """Before and after: of `each`, all but one interrupted by other work on the processor."""
    return [us for usual in usual_us for us in [*[usual + BUSY_US] * (each - 1), usual]]


def _measured(
    *usual_us: float,
    beside_us: float | None = None,
    rounds: int = 4,
    chain_us: float | None = None,
) -> dict[str, Any]:
    """An entry of so many rounds, with the quickest of the empty ones before, then after."""
    state: Any = SimpleNamespace(layout=SimpleNamespace(nbytes=64))
    protocol = {"warmup_rounds": 1, "warmup_ms": 0.0}
    device = SimpleNamespace(kind="cpu")
    setting: Any = SimpleNamespace(phases=Phases(), protocol=protocol, device=device)
    each = pairs._EMPTY_ROUNDS if beside_us is None else pairs._EMPTY_ROUNDS_BESIDE_PARTS
    ran: list[str] = []
    lanes: Any = {
        role: _Lane(role, iter(_empty_rounds(usual_us, each)), beside_us, ran) for role in CALLS_US
    }
    seen: list[float] = []
    pair = pairs._Pair(setting, lanes, state, RoundPlan(rounds=rounds), chain_us)
    return pair.rounds(CALLS, lambda index, baseline_us, candidate_us: seen.append(baseline_us))


def test_a_machine_busy_before_or_after_the_rounds_takes_no_more_off_them() -> None:
    for usual_us in ((BUSY_US, EMPTY_US), (EMPTY_US, BUSY_US)):
        entry = _measured(*usual_us)
        assert entry["overhead_us"] == EMPTY_US
        for taken in entry["rounds"]:
            assert taken["baseline_us"] == CALLS_US["baseline"] / CALLS
            assert taken["candidate_us"] == CALLS_US["candidate"] / CALLS


def test_partial_rounds_reveal_overhead_beyond_empty_rounds() -> None:
    entry = _measured(EMPTY_US, EMPTY_US, beside_us=960.0)
    assert entry["overhead_us"] == pytest.approx(960.0)
    for taken in entry["rounds"]:
        assert taken["baseline_us"] / taken["candidate_us"] == pytest.approx(2.0)


def test_the_time_of_chaining_is_taken_off_both_sides() -> None:
    chain_us = 2.5
    for parts_us in (None, 960.0):
        plain = _measured(EMPTY_US, EMPTY_US, beside_us=parts_us)
        entry = _measured(EMPTY_US, EMPTY_US, beside_us=parts_us, chain_us=chain_us)
        assert entry["chain_us"] == chain_us
        assert entry["overhead_us"] == plain["overhead_us"]
        for with_chain, without in zip(entry["rounds"], plain["rounds"], strict=True):
            for side in ("baseline_us", "candidate_us"):
                taken = without[side] - chain_us * (CALLS - 1) / CALLS
                assert with_chain[side] == pytest.approx(taken)


def test_a_side_warm_from_its_own_round_gains_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(CALLS_US, "candidate", CALLS_US["baseline"])
    monkeypatch.setattr(sys.modules[__name__], "WARM_US", 200.0)
    rounds = _measured(EMPTY_US, EMPTY_US, beside_us=960.0, rounds=4_000)["rounds"]
    times_us = {role: [CALLS * taken[f"{role}_us"] for taken in rounds] for role in CALLS_US}
    # Between the means of so many chance makes a difference of 2 us.
    assert statistics.mean(times_us["baseline"]) == pytest.approx(
        statistics.mean(times_us["candidate"]), abs=10.0
    )


def test_rounds_of_a_part_are_checked_like_any_other(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_side, "_spares_a_processor", lambda device: True)
    record = measure("honest", rounds=2)
    assert record["summary"]["verdict"] != "disqualified"
    assert all(
        workload["overhead_us"] > 0
        for replicate in record["replicates"]
        for workload in replicate["workloads"]
    )
