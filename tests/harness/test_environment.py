"""What the referee says of the machine that it measures on."""

from __future__ import annotations

import os

import pytest

from benchmarks.harness.runs import environment


@pytest.mark.parametrize(("threads", "cores"), [("2", 2), ("64", 4), ("0", 4), ("2,1", 4), ("", 4)])
def test_a_side_has_no_more_threads_than_cores_and_than_it_is_told(
    monkeypatch: pytest.MonkeyPatch, threads: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert environment.cores() == cores
