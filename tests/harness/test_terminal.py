"""What a person at a terminal sees of a run."""

from __future__ import annotations

import io
from typing import Any

import pytest

from benchmarks.harness.cli import terminal
from benchmarks.harness.cli.terminal import Event, Pace
from benchmarks.harness.runs.progress import Progress
from benchmarks.records.failure_codes import FailureCode
from tests.harness.softmax import softmax_benchmark


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def _play(document: dict[str, Any], stream: io.StringIO) -> str:
    with terminal.watching(document, stream) as watcher:
        progress = Progress(document, shown=False, watcher=watcher)
        progress.started()
        for replicate in range(2):
            said = progress.rounds_of(replicate=replicate, workload="wide")
            for index in range(3):
                said(index, 200.0, 100.0)
            progress.replicate(replicate, low=1.9, high=2.1, message="")
        summary = {"verdict": "met", "reasons": ["all of it"], "ratio": 2.0}
        progress.finished({**summary, "low": 1.9, "high": 2.1})
    return stream.getvalue()


def test_lines_say_where_the_run_is_and_its_estimate() -> None:
    said = _play(softmax_benchmark(replicates=2, max_replicates=2), io.StringIO()).splitlines()
    assert said == [
        "starting",
        "replicate 1 of 2: 2.00x (1.90 to 2.10): 0:00 left",
        "replicate 2 of 2: 2.00x (1.90 to 2.10): 0:00 left",
        "met: all of it",
    ]


def test_an_undecided_run_continues_to_the_next_look() -> None:
    events: list[Event] = []
    document = softmax_benchmark(replicates=4, max_replicates=7, look_every=2)
    progress = Progress(document, shown=False, watcher=events.append)
    for replicate in range(7):
        progress.rounds_of(replicate=replicate, workload="wide")(0, 2.0, 1.0)
        progress.replicate(replicate, low=None, high=None, message="")
    asked = [event["replicates"] for event in events if event["event"] == "round"]
    assert asked == [4, 4, 4, 4, 6, 6, 7]
    assert asked == [event["replicates"] for event in events if event["event"] == "replicate"]


def test_a_terminal_gets_a_bar() -> None:
    said = _play(softmax_benchmark(replicates=2, max_replicates=2), Terminal())
    assert "2.00x (1.90 to 2.10)" in said
    assert "━" in said
    assert "met: all of it" in said


def test_a_workloads_name_neither_ends_the_bar_nor_redraws_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    document, stream = softmax_benchmark(), Terminal()
    name = document["workloads"][0]["name"] = "[red]wide[/nothing]\x1b[9J\nmet: 9x"
    with terminal.watching(document, stream) as watcher:
        progress = Progress(document, shown=False, watcher=watcher)
        progress.rounds_of(replicate=0, workload=name)(0, 200.0, 100.0)
    said = stream.getvalue()
    assert "replicate 1 of 1, [red]wide[/nothing]\ufffd[9J met: 9x" in said
    assert "\x1b[9J" not in said


def test_the_time_left_follows_the_pace() -> None:
    now = [0.0]
    pace = Pace(softmax_benchmark(replicates=2, max_replicates=4), clock=lambda: now[0])
    assert pace.left_s() is None
    event = {"event": "round", "replicate": 1, "replicates": 2, "rounds": 3}
    for _ in range(3):
        now[0] += 10.0
        pace.see(event)
    assert pace.left_s() == pytest.approx(30.0)
    # An undecided run is measured on: the whole gets longer.
    pace.see({**event, "event": "replicate", "replicate": 3, "replicates": 3})
    assert pace.left_s() == 0.0
    pace.see({**event, "replicates": 4})
    assert pace.total == 12
    assert terminal.duration(65.2) == "1:05 left"


def test_a_failed_run_is_reported_once() -> None:
    stream = io.StringIO()
    document = softmax_benchmark()
    with terminal.watching(document, stream) as watcher:
        progress = Progress(document, shown=False, watcher=watcher)
        progress.started()
        progress.failed("the candidate raised", code=FailureCode.CANDIDATE_CRASHED)
    assert stream.getvalue() == "starting\n"
