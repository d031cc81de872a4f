"""Draft workloads and weights from a log of shapes: the most frequent by name, the rest as a tail.

The tail is one workload at the middle of the other shapes by size, weighted by calls: a shape that
was called, so that axes that depend on each other fit.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.records.folder_errors import FolderError

Axes = Mapping[str, int]
TAIL = "tail"
COVERAGE, MOST_NAMED = 0.9, 8
_COUNTS = ("count", "calls", "n")
# Of all calls of a row, as `twofold shapes` writes it.
_TIME = "time_us"
_LONGEST_LOG_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class Logged:
    """Calls of one shape, and the time of all of them where the log has it."""

    axes: Axes
    calls: int = 1
    time_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class ShapeLog:
    """The shapes of a log. `left_out` names rows that could not be read, with their calls."""

    shapes: Sequence[Logged]
    left_out: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """Workloads as `benchmark.toml` has them, and what they cover of the log.

    `covered_time` is None where the log has no times. `left_out` says which rows belong to no
    workload; their calls count as not covered.
    """

    workloads: Sequence[tuple[str, Axes, float]]
    calls: int
    covered: float
    covered_time: float | None = None
    left_out: Sequence[str] = ()

    @property
    def has_tail(self) -> bool:
        """Whether some calls have none of the named shapes."""
        return self.workloads[-1][0] == TAIL


def read_log(content: bytes, name: str) -> ShapeLog:
    """Shapes with their calls from CSV with a header, or JSON lines. Raises FolderError.

    A column `count`, `calls` or `n` counts a row's calls, else it is one call; `time_us` is their
    time. Columns that are not whole numbers, such as names, are left out.
    """
    if len(content) > _LONGEST_LOG_BYTES:
        raise _unreadable(name, f"it is larger than {_LONGEST_LOG_BYTES // 2**20} MiB")
    try:
        text = content.decode()
        if text.lstrip().startswith("{"):
            rows: list[Any] = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            rows = list(csv.DictReader(io.StringIO(text)))
    except (ValueError, RecursionError, csv.Error) as error:
        raise _unreadable(name, str(error)) from error
    shapes, left_out = [], []
    for number, row in enumerate(rows, start=1):
        found = _logged(row) if isinstance(row, dict) else ("no columns", 1)
        if isinstance(found, Logged):
            shapes.append(found)
        else:
            left_out.append((f"row {number}: {found[0]}", found[1]))
    if not shapes:
        raise _unreadable(name, "it has no row with a whole number")
    return ShapeLog(shapes=shapes, left_out=left_out)


def _logged(row: Mapping[str, object]) -> Logged | tuple[str, int]:
    """A row, or why it cannot be read and its calls."""
    whole = {axis: size for axis, each in row.items() if (size := _whole(each)) is not None}
    time_us = None
    if _TIME in row:
        whole.pop(_TIME, None)
        time_us = _time(row[_TIME])
        if time_us is None:
            return f"{_TIME} is {row[_TIME]!r}", 1
    calls = 1
    if counter := next((each for each in _COUNTS if each in row), None):
        if counter not in whole:
            return f"{counter} is {row[counter]!r}", 1
        calls = whole.pop(counter)
    if not whole:
        return "no whole number above 0", calls
    return Logged(axes=whole, calls=calls, time_us=time_us)


def draft(
    log: ShapeLog,
    *,
    fixed: Axes,
    coverage: float = COVERAGE,
    most: int = MOST_NAMED,
    calls: int | None = None,
) -> Drafted:
    """The most frequent shapes up to the share `coverage` of the calls, and the tail.

    `fixed` names every axis of the operator: the sizes of those that the log does not have.
    `calls` are those of the whole log, where it has only its most frequent shapes. Raises
    FolderError where the log has none of the axes.
    """
    logged = {axis for each in log.shapes for axis in each.axes}
    if not logged & set(fixed):
        raise FolderError(
            f"the log has {', '.join(sorted(logged)) or 'no axis'}, the operator has "
            f"{', '.join(fixed)}: name a column as an axis",
            code="log",
        )
    found, times, left_out = _by_shape(log, fixed, logged)
    total = max(calls or 0, found.total() + sum(count for _, count in left_out))
    named: list[tuple[tuple[int, ...], int]] = []
    for shape, count in found.most_common(most):
        if named and sum(each for _, each in named) >= coverage * total:
            break
        named.append((shape, count))
    covered = sum(count for _, count in named)
    rest = {shape: count for shape, count in found.items() if shape not in dict(named)}
    weights = [count / total for _, count in named]
    shapes_named = [shape for shape, _ in named]
    names = [_name(fixed, logged, shape) for shape in shapes_named]
    spent = math.fsum(times.values())
    in_named = math.fsum(times.get(shape, 0.0) for shape in shapes_named)
    if covered < total:
        shapes_named.append(_middle(rest) if rest else shapes_named[-1])
        names.append(TAIL)
        weights.append(1 - math.fsum(weights))
    else:
        weights[-1] = 1 - math.fsum(weights[:-1])
    return Drafted(
        workloads=[
            (name, dict(zip(fixed, shape, strict=True)), weight)
            for name, shape, weight in zip(names, shapes_named, weights, strict=True)
        ],
        calls=total,
        covered=covered / total,
        covered_time=in_named / spent if spent and not left_out else None,
        left_out=[f"{what} ({count:,} calls)" for what, count in left_out],
    )


def _by_shape(
    log: ShapeLog, fixed: Axes, logged: set[str]
) -> tuple[Counter[tuple[int, ...]], dict[tuple[int, ...], float], list[tuple[str, int]]]:
    """Calls and times by shape, and the rows of none. Times only where every row has one."""
    found: Counter[tuple[int, ...]] = Counter()
    times: dict[tuple[int, ...], float] = {}
    left_out = list(log.left_out)
    timed = all(each.time_us is not None for each in log.shapes)
    for each in log.shapes:
        if missing := sorted((logged & set(fixed)) - set(each.axes)):
            sizes = ", ".join(f"{axis} {size}" for axis, size in each.axes.items())
            left_out.append((f"{sizes}: no {', '.join(missing)}", each.calls))
            continue
        shape = tuple(each.axes.get(axis, size) for axis, size in fixed.items())
        found[shape] += each.calls
        if timed:
            times[shape] = times.get(shape, 0.0) + (each.time_us or 0.0)
    return found, times, left_out


def filled(description: str, drafted: Drafted, *, source: str | None) -> str:
    """A benchmark.toml with its workloads and traffic replaced by the drafted ones.

    Without a `source` the sizes are nobody's traffic.
    """
    kept: list[str] = []
    skipping = False
    for line in description.splitlines():
        if line.startswith("["):
            skipping = line.startswith(("[[workloads", "[workloads", "[traffic"))
        if not skipping:
            kept.append(line)
    lines = ["\n".join(kept).rstrip()]
    if source is not None:
        lines += ["", "[traffic]", f"source = {json.dumps(source)}"]
        lines += [f"calls = {drafted.calls}", f"covered = {drafted.covered:.6f}"]
        if drafted.covered_time is not None:
            lines.append(f"covered_time = {drafted.covered_time:.6f}")
        if drafted.has_tail:
            lines.append(f'tail = "{TAIL}"')
    for name, axes, weight in drafted.workloads:
        lines += ["", "[[workloads]]", f'name = "{name}"', f"weight = {weight!r}"]
        lines += [f"axes.{axis} = {size}" for axis, size in axes.items()]
    return "\n".join(lines) + "\n"


def _name(fixed: Axes, logged: set[str], shape: tuple[int, ...]) -> str:
    varied = zip(fixed, shape, strict=True)
    return " ".join(f"{axis}={size}" for axis, size in varied if axis in logged)


def _middle(rest: Mapping[tuple[int, ...], int]) -> tuple[int, ...]:
    half, below = sum(rest.values()) / 2, 0
    for shape in sorted(rest, key=lambda each: (math.prod(each), each)):
        below += rest[shape]
        if below >= half:
            return shape
    raise ValueError("no other shapes")


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(str(value).strip())
    except ValueError:
        return None
    return number if number > 0 else None


def _time(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _unreadable(name: str, reason: str) -> FolderError:
    return FolderError(
        f"{name} cannot be read: {reason}. Use CSV with a header or JSON lines, a column an axis",
        code="log",
    )
