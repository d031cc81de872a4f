"""A log of shapes from a PyTorch profiler's trace: operator, shapes, calls, share of time.

The trace is recorded with `record_shapes=True`. The time of a call is that of the kernels that it
launched, itself or by operators inside it; without kernels, its own on the processor. No torch.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.records.folder_errors import FolderError

# Parsing takes some ten times as much memory.
MAX_BYTES = 512 * 2**20
COLUMNS = ("operator", "shapes", "calls", "time_us", "share_of_time")
Dims = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Row:
    """Calls of one operator at one list of shapes; `time_us` is of all of them."""

    operator: str
    dims: Dims
    calls: int
    time_us: float
    share_of_time: float

    @property
    def shapes(self) -> str:
        """The shapes as text: "16,256 256,1024"."""
        return " ".join(",".join(map(str, each)) for each in self.dims)


@dataclass
class Log:
    """The rows of a trace, and what could not be read, with the number of events."""

    rows: list[Row] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read(content: bytes, name: str) -> Log:
    """The operators of a trace by shape, the most time first. Raises FolderError."""
    events = _events(content, name)
    log = Log()
    calls = list(_calls(events, log.left_out))
    if not calls:
        raise _unreadable(name, "it has no operator with shapes: record it with record_shapes=True")
    times, total = _times(events, calls)
    found: dict[tuple[str, Dims], list[float]] = defaultdict(list)
    for call, time_us in zip(calls, times, strict=True):
        found[call.operator, call.dims].append(time_us)
    log.rows = [
        Row(operator, dims, len(each), sum(each), sum(each) / total if total else 0.0)
        for (operator, dims), each in found.items()
    ]
    log.rows.sort(key=lambda row: (-row.time_us, -row.calls, row.operator))
    return log


@dataclass(frozen=True)
class _Call:
    operator: str
    dims: Dims
    thread: tuple[Any, Any]
    begin: float
    end: float
    external_id: Any


def _events(content: bytes, name: str) -> list[Any]:
    if content[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(name, f"it is damaged ({error})") from error
    if len(content) > MAX_BYTES:
        raise _unreadable(name, f"it is larger than {MAX_BYTES // 2**20} MiB: record fewer steps")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, f"it is not JSON ({error})") from error
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise _unreadable(name, "it has no traceEvents")
    return [each for each in events if isinstance(each, dict)]


def _calls(events: Iterable[Mapping[str, Any]], left_out: Counter[str]) -> Iterable[_Call]:
    for event in events:
        if event.get("cat") != "cpu_op" or event.get("ph") != "X":
            continue
        arguments = event.get("args")
        given = arguments if isinstance(arguments, dict) else {}
        name, dims = str(event.get("name", "")), _dims(given.get("Input Dims"))
        begin, lasting = _number(event.get("ts")), _number(event.get("dur"))
        if begin is None or lasting is None:
            left_out[f"{name}: no time"] += 1
        elif dims is None:
            left_out[f"{name}: no shapes"] += 1
        elif dims:
            thread = (event.get("pid"), event.get("tid"))
            key = given.get("External id")
            yield _Call(name, dims, thread, begin, begin + lasting, key)


def _dims(given: Any) -> Dims | None:
    """The shapes of the inputs that are tensors, those of lists one after the other."""
    if not isinstance(given, list):
        return None
    found: list[tuple[int, ...]] = []
    for each in given:
        if not isinstance(each, list):
            return None
        several = each if each and all(isinstance(part, list) for part in each) else [each]
        for one in several:
            if not all(isinstance(size, int) and not isinstance(size, bool) for size in one):
                return None
            if one:
                found.append(tuple(one))
    return tuple(found)


def _times(
    events: Sequence[Mapping[str, Any]], calls: Sequence[_Call]
) -> tuple[list[float], float]:
    """The time of each call, and of all of the trace."""
    kernels: dict[Any, float] = defaultdict(float)
    total = 0.0
    for event in events:
        if event.get("cat") == "kernel" and (lasting := _number(event.get("dur"))) is not None:
            given = event.get("args")
            key = given.get("External id") if isinstance(given, dict) else None
            total += lasting
            if isinstance(key, int | str):
                kernels[key] += lasting
    parents = _parents(calls)
    if not total:
        outer = [index for index, parent in enumerate(parents) if parent is None]
        own = [call.end - call.begin for call in calls]
        return own, sum(own[index] for index in outer)
    times = [0.0] * len(calls)
    for index, call in enumerate(calls):
        launched = kernels.get(call.external_id, 0.0) if call.external_id is not None else 0.0
        at: int | None = index if launched else None
        while at is not None:
            times[at] += launched
            at = parents[at]
    return times, total


def _parents(calls: Sequence[_Call]) -> list[int | None]:
    """The call around each call, on the same thread."""
    found: list[int | None] = [None] * len(calls)
    stacks: dict[tuple[Any, Any], list[int]] = defaultdict(list)
    order = sorted(range(len(calls)), key=lambda at: (calls[at].begin, -calls[at].end))
    for index in order:
        stack = stacks[calls[index].thread]
        while stack and calls[stack[-1]].end < calls[index].end:
            stack.pop()
        found[index] = stack[-1] if stack else None
        stack.append(index)
    return found


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if good and 0 <= value < 1e18 else None


def named(
    log: Log, operator: str, pattern: str
) -> tuple[list[tuple[Row, dict[str, int]]], list[str]]:
    """The rows of an operator with its axes by name, and those that do not fit the pattern.

    A pattern has the shapes of the tensors, such as "tokens,hidden hidden,width"; a number must
    match, and "_" is any. Raises FolderError.
    """
    rows = [row for row in log.rows if row.operator == operator]
    if not rows:
        known = ", ".join(dict.fromkeys(row.operator for row in log.rows[:20]))
        raise FolderError(f"the trace has no {operator} with shapes; it has {known}", code="log")
    wanted = [each.split(",") for each in pattern.split()]
    if not wanted or not all(
        re.fullmatch(r"_|[0-9]+|[A-Za-z][A-Za-z0-9_]*", side) for each in wanted for side in each
    ):
        raise FolderError(
            f"--axes {pattern!r}: give the shapes, such as 'tokens,hidden hidden,width'", code="log"
        )
    fitting, left_out = [], []
    for row in rows:
        axes = _axes(row.dims, wanted)
        if axes is None:
            left_out.append(f"{row.calls} calls of {row.shapes}: not {pattern}")
        else:
            fitting.append((row, axes))
    return fitting, left_out


def _axes(dims: Dims, wanted: Sequence[Sequence[str]]) -> dict[str, int] | None:
    axes: dict[str, int] = {}
    if len(dims) < len(wanted):
        return None
    for sizes, sides in zip(dims, wanted, strict=False):
        if len(sizes) != len(sides):
            return None
        for size, side in zip(sizes, sides, strict=True):
            if side == "_":
                continue
            if side.isdecimal():
                if int(side) != size:
                    return None
            elif axes.setdefault(side, size) != size or size < 1:
                return None
    return axes


def written(rows: Sequence[tuple[Row, Mapping[str, int]]]) -> str:
    """The rows as CSV, a column an axis, as `twofold init --from` takes it."""
    made = io.StringIO()
    axes = list(dict.fromkeys(axis for _, each in rows for axis in each))
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow([*COLUMNS, *axes])
    for row, each in rows:
        figures = [row.calls, f"{row.time_us:.3f}", f"{row.share_of_time:.6f}"]
        writer.writerow(
            [row.operator, row.shapes, *figures, *(each.get(axis, "") for axis in axes)]
        )
    return made.getvalue()


def _unreadable(name: str, reason: str) -> FolderError:
    return FolderError(
        f"{name} cannot be read: {reason}. Give a trace of torch.profiler, .json or .json.gz",
        code="log",
    )
