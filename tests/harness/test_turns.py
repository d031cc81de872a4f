"""A side's turn begins on the clock before the first of its processes runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.harness.sides import process_trees, processes
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.harness.sides.sandboxes import Arrangement, Sandbox

CHILDREN = 20
CROWD = f"""
import os, time
for _ in range({CHILDREN}):
    if os.fork() == 0:
        break
with open(f"{{os.getpid()}}.ran", "a") as ran:
    while True:
        print(time.perf_counter_ns(), file=ran, flush=True)
        time.sleep(0.01)
"""


@pytest.fixture
def crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SideProcess]:
    """A side of many processes, each of which says when it ran; none of them runs now."""
    monkeypatch.setattr(processes, "python_arguments", lambda module: ["-c", CROWD])
    sandbox = Sandbox(
        arrangement=Arrangement(),
        user=os.geteuid(),
        cache=tmp_path / "cache",
        shown=(),
        devices=(),
    )
    with SideProcess(
        role="candidate",
        replicate=0,
        scratch=tmp_path / "scratch",
        sandbox=sandbox,
        threads=1,
        stops_when_idle=True,
    ) as side:
        while len(list((tmp_path / "scratch").glob("*.ran"))) <= CHILDREN:
            time.sleep(0.01)
        with side.turn():
            pass
        # On a busy machine some stop late.
        while {process_trees._stat(pid)[0] for pid in process_trees.members(side.pid, None)} != {
            "T"
        }:
            time.sleep(0.01)
        yield side


def test_nobody_of_a_large_family_runs_before_the_clock(crowd: SideProcess, tmp_path: Path) -> None:
    stood_ns = time.perf_counter_ns()
    with crowd.turn() as began_ns:
        while not (ran_ns := _ran_since(stood_ns, tmp_path / "scratch")):
            time.sleep(0.01)
    assert min(ran_ns) >= began_ns


def _ran_since(since_ns: int, folder: Path) -> list[int]:
    # The last line may be half a number still.
    said = [file.read_text().split("\n")[:-1] for file in folder.glob("*.ran")]
    return [int(line) for lines in said for line in lines if int(line) >= since_ns]
