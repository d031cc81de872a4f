"""Where the time of a run goes: each second is counted once."""

from __future__ import annotations

import contextlib
import time

import pytest

from benchmarks.harness.rounds.phases import Phases


class Clock:
    """Time that passes when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def test_a_phase_inside_another_is_not_counted_twice(clock: Clock) -> None:
    phases = Phases()
    clock.now = 1.0
    with phases.of("measuring"):
        clock.now = 3.0
        with phases.of("checking"):
            clock.now = 7.0
        clock.now = 8.0
    clock.now = 8.5
    assert phases.seconds() == {"rest": 1.5, "measuring": 3.0, "checking": 4.0}


def test_a_phase_includes_its_inner_phases(clock: Clock) -> None:
    phases = Phases()
    with phases.of("same_code", whole=True):
        with phases.of("starting"):
            clock.now = 2.0
        with phases.of("measuring"):
            clock.now = 3.0
    with phases.of("starting"):
        clock.now = 4.0
    assert phases.seconds() == {"rest": 0.0, "same_code": 3.0, "starting": 1.0}


def test_a_phase_that_fails_is_over(clock: Clock) -> None:
    phases = Phases()
    with contextlib.suppress(ValueError), phases.of("trials", whole=True):
        clock.now = 2.0
        raise ValueError("a trial went wrong")
    with phases.of("checking"):
        clock.now = 5.0
    assert phases.seconds() == {"rest": 0.0, "trials": 2.0, "checking": 3.0}
