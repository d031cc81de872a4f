"""Show a run's progress on stderr: a status line on a terminal, plain lines otherwise."""

import shutil
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
_CLEARED = "\r\x1b[K"
_BAR = 30


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
    if event["event"] == "finished":
        return printable.line(event["message"], _LETTERS)
    if not event["replicate"]:
        return "starting"
    where = f"replicate {event['replicate']} of {event['replicates']}"
    if not event["workload"]:
        return where
    return printable.line(f"{where}, {event['workload']}", _LETTERS)


@contextmanager
def watching(document: Mapping[str, Any], stream: TextIO | None = None) -> Iterator[Watcher]:
    """The callback for events: a status line where `stream` (stderr) is a terminal, else lines."""
    out, pace = stream or sys.stderr, Pace(document)
    live = out.isatty()

    def watch(event: Event) -> None:
        pace.see(event)
        name = event["event"]
        finished = name == "finished"
        # The command reports failures.
        if finished or (not live and name in ("started", "replicate")):
            left = duration(pace.left_s()) if name == "replicate" else ""
            parts = [place(event), "" if finished else estimate(event), left]
            print(_CLEARED * live + ": ".join(filter(None, parts)), file=out, flush=True)
        elif live and name != "failed":
            status = f"{_bar(pace)} {estimate(event)} {duration(pace.left_s())} {place(event)}"
            width = shutil.get_terminal_size().columns - 1
            print(_CLEARED + status[:width], end="", file=out, flush=True)

    yield watch
    if live:
        print(_CLEARED, end="", file=out, flush=True)


def _bar(pace: Pace) -> str:
    filled = round(_BAR * pace.done / pace.total)
    return "━" * filled + "╌" * (_BAR - filled)
