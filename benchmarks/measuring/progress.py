"""Parse the referee's progress events, which are untrusted, for the page."""

import json
import math
from collections.abc import Mapping
from typing import Any

from benchmarks.records import failure_codes
from benchmarks.records.failure_codes import FailureCode
from benchmarks.text import LONGEST_LOG, readable

LONGEST_HISTORY = 200
LONGEST_MESSAGE = 300
PHASES = {
    "started": "starting",
    "replicate": "setup",
    "round": "measuring",
    "finished": "checking",
    "failed": "failed",
}
COUNTS = ("replicate", "replicates", "round", "rounds")
FIGURES = ("ratio", "low", "high")
LARGEST_COUNT = 1_000_000


class Progress:
    """The progress of a run. Lines that are not events are counted and ignored."""

    def __init__(self) -> None:
        self.ignored_lines = 0
        self.failure = self.failure_log = ""
        self.failure_code: FailureCode | None = None
        self._data: dict[str, Any] = {"phase": "starting", "message": ""}
        self._data |= dict.fromkeys((*COUNTS, *FIGURES))
        self._history: list[dict[str, float | None]] = []
        self._workload = ""

    def read(self, line: bytes, *, at_s: float) -> bool:
        """Parse one line, `at_s` seconds after the start; True for an event."""
        event = _event(line)
        if event is None:
            self.ignored_lines += 1
            return False
        self._data["phase"] = PHASES[event["event"]]
        for name in COUNTS:
            self._data[name] = _count(event.get(name), self._data[name])
        for name in FIGURES:
            self._data[name] = _figure(event.get(name), self._data[name])
        message = event.get("message")
        workload = event.get("workload")
        self._data["message"] = _text(message) or _text(workload)
        if event["event"] == "failed":
            self.failure = _text(message, longest=2000)
            self.failure_log = _text(event.get("log"), longest=LONGEST_LOG)
            self.failure_code = failure_codes.stated(event.get("code"))
        self._remember(event, at_s)
        return True

    def as_data(self) -> dict[str, Any]:
        """The value of `Run.progress`."""
        return {**self._data, "history": list(self._history)}

    def _remember(self, event: dict[str, Any], at_s: float) -> None:
        # Only figures of the same event: a ratio beside an earlier interval misleads.
        point = {name: _figure(event.get(name), None) for name in FIGURES}
        if point["ratio"] is None:
            return
        self._history.append({"at_s": round(at_s, 2), **point})
        if len(self._history) > LONGEST_HISTORY:
            self._history = _thinned(self._history)


def validated(data: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the untrusted report of a runner, in the form of `Progress.as_data`."""
    found = Progress().as_data()
    if data.get("phase") in PHASES.values():
        found["phase"] = data["phase"]
    found["message"] = _text(data.get("message"))
    found |= {name: _count(data.get(name), None) for name in COUNTS}
    found |= {name: _figure(data.get(name), None) for name in FIGURES}
    history = data.get("history")
    points = history[-LONGEST_HISTORY:] if isinstance(history, list) else []
    found["history"] = [
        {name: _figure(point.get(name), None) for name in ("at_s", *FIGURES)}
        for point in points
        if isinstance(point, dict) and _figure(point.get("at_s"), None) is not None
    ]
    return found


def _thinned(history: list[dict[str, float | None]]) -> list[dict[str, float | None]]:
    """Every other point; the newest, and points with an interval as long as they fit, stay."""
    backwards = list(enumerate(reversed(history)))
    kept = [point for back, point in backwards if back % 2 == 0 or point["low"] is not None]
    if len(kept) > LONGEST_HISTORY * 3 // 4:
        kept = [point for back, point in backwards if back % 2 == 0]
    return kept[::-1]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(event, dict) and isinstance(event.get("event"), str)
    return event if known and event["event"] in PHASES else None


def _count(value: object, before: int | None) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return before
    return value if 0 <= value <= LARGEST_COUNT else before


def _figure(value: object, before: float | None) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return before
    # Neither JSON nor the database stores Infinity and NaN.
    try:
        number = float(value)
    except OverflowError:
        return before
    return number if math.isfinite(number) else before


def _text(value: object, *, longest: int = LONGEST_MESSAGE) -> str:
    return readable(value, longest=longest) if isinstance(value, str) else ""
