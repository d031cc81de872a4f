"""Collect the events of a trace into the columns of a recording."""

from __future__ import annotations

from math import isfinite
from typing import Any

from engagements.evidence.readers import recording
from engagements.evidence.readers.chrome_trace import categories
from engagements.evidence.readers.chrome_trace.events import Event, integer
from engagements.evidence.readers.recording import Recording

_OPERATIONS = {
    categories.KERNEL: recording.KERNEL,
    categories.COPY: recording.COPY,
    categories.MEMSET: recording.MEMSET,
}
# Times beyond 30 years are from another clock or invalid.
FIRST_US, LAST_US = -1e15, 1e15
# Kinds of calls that launch nothing.
_WAITS, _OTHER = -2, -1


class Collector:
    """Collects events block by block. `open` holds "B" events until their "E"."""

    def __init__(self) -> None:
        self.recording = Recording(format="chrome_trace")
        # Complete events without a valid start and duration.
        self.left_out = 0
        # Times count from the first event: as doubles, microseconds since the epoch have a
        # precision of only 0.25 us.
        self._base_us: float | None = None
        self._kinds: dict[Any, int] = {}
        self._calls: dict[str, int] = {}
        self._threads: dict[tuple[Any, Any], int] = {}
        self._begun: dict[tuple[Any, Any], list[Event]] = {}

    def take(self, events: list[Event]) -> None:
        """Add the events of one block, in any order."""
        kinds, host, ignored = self._kinds, categories.HOST, categories.IGNORED
        low, high, base = self.recording.low_us, self.recording.high_us, self._base_us
        if base is None:
            base = self._base_us = _first_start(events)
        if base is None:
            base = 0.0
        for event in events:
            phase = event.ph
            if phase != "X":
                if phase != "B" and phase != "E":
                    continue
                completed = self._of_another_phase(event)
                if completed is None:
                    continue
                event = completed
            try:
                kind = kinds[event.cat]
            except (KeyError, TypeError):
                kind = self._kind_of(event.cat)
            if kind == ignored:
                continue
            start = event.ts - base
            end = start + event.dur
            # Neither NaN nor a negative length passes.
            if not FIRST_US < start <= end < LAST_US:
                self.left_out += 1
                continue
            if start < low:
                low = start
            if end > high:
                high = end
            if kind != host:
                self._take(kind, event, start, end)
        self.recording.low_us, self.recording.high_us = low, high
        self.recording.events += len(events)
        self.recording.check_size()

    def _kind_of(self, category: Any) -> int:
        if not isinstance(category, str):
            return categories.HOST
        kind = categories.CATEGORIES.get(category.strip().lower(), categories.HOST)
        if len(self._kinds) < 1000:
            self._kinds[category] = kind
        return kind

    def _take(self, kind: int, event: Event, start: float, end: float) -> None:
        if kind == categories.CALL:
            self._take_call(event, start, end)
        elif kind in _OPERATIONS:
            self._take_operation(_OPERATIONS[kind], event, start, end)
        elif isinstance(event.name, str):
            self._take_range(kind, event, start, end)

    def _take_operation(self, kind: int, event: Event, start: float, end: float) -> None:
        columns, arguments = self.recording.operations, event.args
        device, stream, correlation = event.pid, event.tid, None
        if arguments is not None:
            correlation = arguments.correlation
            device = event.pid if arguments.device is None else arguments.device
            stream = event.tid if arguments.stream is None else arguments.stream
        columns.starts.append(start)
        columns.ends.append(end)
        columns.names.append(self.recording.names.number(str(event.name)))
        columns.kinds.append(kind)
        columns.devices.append(integer(device, 0))
        columns.streams.append(integer(stream, 0))
        columns.correlations.append(integer(correlation, recording.NO_CORRELATION, bits=63))

    def _take_call(self, event: Event, start: float, end: float) -> None:
        self.recording.has_calls = True
        name = event.name if isinstance(event.name, str) else ""
        kind = self._calls.get(name)
        if kind is None:
            kind = _kind_of_call(name)
            if len(self._calls) < 10_000:
                self._calls[name] = kind
        if kind == _WAITS:
            self.recording.synced_us += end - start
        if kind < 0:
            return
        correlation = event.args.correlation if event.args is not None else None
        columns = self.recording.calls
        columns.starts.append(start)
        columns.ends.append(end)
        columns.threads.append(self._thread(event))
        columns.correlations.append(integer(correlation, recording.NO_CORRELATION, bits=63))
        columns.kinds.append(kind)

    def _take_range(self, kind: int, event: Event, start: float, end: float) -> None:
        name: str = event.name
        what = recording.ANNOTATION
        if kind == categories.FUNCTION:
            if not name.startswith(categories.MODULE):
                return
            name, what = name[len(categories.MODULE) :], recording.MODULE
        columns = self.recording.ranges
        thread = self._thread(event)
        columns.starts.append(start)
        columns.ends.append(end)
        columns.threads.append(-1 - thread if kind == categories.DEVICE_RANGE else thread)
        columns.names.append(self.recording.names.number(name))
        columns.kinds.append(what)

    def _thread(self, event: Event) -> int:
        # Kineto names the device of a GPU annotation by its process, and the stream by thread.
        place = event.pid, event.tid
        try:
            return self._threads[place]
        except (KeyError, TypeError):
            number = self.recording.threads.number(f"{event.pid}/{event.tid}")
        if len(self._threads) < 10_000 and all(isinstance(each, int | str) for each in place):
            self._threads[place] = number
        return number

    def _of_another_phase(self, event: Event) -> Event | None:
        """Return the complete event of a matching "B" and "E"; None for other phases."""
        try:
            begun = self._begun.setdefault((event.pid, event.tid), [])
        except TypeError:
            return None
        if event.ph == "B" and len(begun) < 10_000 and len(self._begun) < 100_000:
            begun.append(event)
        elif event.ph == "E" and begun:
            start = begun.pop()
            start.ph, start.dur = "X", event.ts - start.ts
            return start
        return None


def _first_start(events: list[Event]) -> float | None:
    """Return the first start in these events, or None."""
    return next((event.ts for event in events if event.ph == "X" and isfinite(event.ts)), None)


def _kind_of_call(name: str) -> int:
    if categories.GRAPH_LAUNCHES.search(name):
        return recording.GRAPH_LAUNCH
    if categories.LAUNCHES.search(name) or categories.COPIES.search(name):
        return recording.LAUNCH
    return _WAITS if categories.SYNCHRONISES.search(name) else _OTHER
