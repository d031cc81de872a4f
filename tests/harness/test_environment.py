"""What the referee says of the machine that it measures on."""

from __future__ import annotations

import os

import pytest

from benchmarks.harness.runs import environment


@pytest.mark.parametrize(("threads", "cores"), [("2", 2), ("64", 4), ("0", 4), ("2,1", 4), ("", 4)])
def test_threads_are_limited_by_cores_and_environment(
    monkeypatch: pytest.MonkeyPatch, threads: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert environment.cores() == cores
