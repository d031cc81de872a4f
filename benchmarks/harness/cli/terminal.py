"""Show a run's progress on stderr: a bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from benchmarks.harness.sides import printable

Event = Mapping[str, Any]
Watcher = Callable[[Event], None]
# Names of workloads are untrusted input.
_LETTERS = 2_000


class Pace:
    """The progress of a run in rounds, and its remaining seconds."""

    def __init__(
        self, document: Mapping[str, Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._workloads = len(document["workloads"])
        self._started = clock()
        self.done = 0
        self.total = document["protocol"]["replicates"] * self._in_one(document["protocol"])

    def _in_one(self, counts: Mapping[str, Any]) -> int:
        return int(counts["rounds"]) * self._workloads

    def see(self, event: Event) -> None:
        """Count an event; more replicates than planned extend the total."""
        self.total = max(self.total, event["replicates"] * self._in_one(event))
        if event["event"] == "round":
            self.done = min(self.done + 1, self.total)
        elif event["event"] == "replicate":
            # Other rounds than those of the workloads take time, too.
            self.done = event["replicate"] * self._in_one(event)
        elif event["event"] == "finished":
            self.done = self.total

    def left_s(self) -> float | None:
        """Estimated seconds left; None before the first round."""
        if not self.done:
            return None
        return (self._clock() - self._started) * (self.total - self.done) / self.done


def estimate(event: Event) -> str:
    """The estimate so far, as `2.31x (2.25 to 2.36)`; empty before there is one."""
    if event["ratio"] is None:
        return ""
    if event["low"] is None or event["high"] is None:
        return f"{event['ratio']:.2f}x"
    return f"{event['ratio']:.2f}x ({event['low']:.2f} to {event['high']:.2f})"


def duration(seconds: float | None) -> str:
    """The time left, as `1:05 left`; empty where it is unknown."""
    if seconds is None:
        return ""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d} left"


def place(event: Event) -> str:
    """The current replicate, round and workload."""
    if event["event"] in _ENDS:
        return printable.line(event["message"], _LETTERS)
    if not event["replicate"]:
        return "starting"
    where = f"replicate {event['replicate']} of {event['replicates']}"
    if not event["workload"]:
        return where
    return printable.line(f"{where}, {event['workload']}", _LETTERS)


@contextmanager
def watching(document: Mapping[str, Any], stream: TextIO | None = None) -> Iterator[Watcher]:
    """The callback for events: a bar where `stream` (stderr) is a terminal, else lines."""
    out = stream or sys.stderr
    if not out.isatty():
        yield _lines(document, out)
        return
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        # Optional on a customer's machine.
        yield _lines(document, out)
        return
    with _bar(document, Console(file=out)) as watcher:
        yield watcher


def _lines(document: Mapping[str, Any], out: TextIO) -> Watcher:
    pace = Pace(document)

    def line(event: Event) -> None:
        pace.see(event)
        # The command reports failures.
        if event["event"] in ("started", "replicate", "finished"):
            left = duration(pace.left_s()) if event["event"] == "replicate" else ""
            said = [place(event), "" if event["event"] == "finished" else estimate(event), left]
            print(": ".join(part for part in said if part), file=out, flush=True)

    return line


@contextmanager
def _bar(document: Mapping[str, Any], console: Any) -> Iterator[Watcher]:
    from rich.progress import BarColumn, Progress, TextColumn

    pace = Pace(document)
    columns = (
        # Names in brackets are not markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[estimate]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=pace.total, estimate="", left="")

        def bar(event: Event) -> None:
            pace.see(event)
            progress.update(
                task,
                total=pace.total,
                completed=pace.done,
                description=place(event) if event["event"] not in _ENDS else event["event"],
                estimate=estimate(event),
                left="" if event["event"] in _ENDS else duration(pace.left_s()),
            )
            if event["event"] == "finished":
                progress.console.print(place(event), markup=False, highlight=False)

        yield bar


_ENDS = ("finished", "failed")
