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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.records.folder_errors import FolderError

Axes = Mapping[str, int]
TAIL = "tail"
COVERAGE, MOST_NAMED = 0.9, 8
_COUNTS = ("count", "calls", "n")
_LONGEST_LOG_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """Workloads as `benchmark.toml` has them, and what they cover of the log."""

    workloads: Sequence[tuple[str, Axes, float]]
    calls: int
    covered: float

    @property
    def has_tail(self) -> bool:
        """Whether some calls have none of the named shapes."""
        return self.workloads[-1][0] == TAIL


def read_log(content: bytes, name: str) -> list[tuple[Axes, int]]:
    """Shapes with their calls from CSV with a header, or JSON lines. Raises FolderError.

    A column `count`, `calls` or `n` counts a row's calls, else it is one call. Columns that are not
    whole numbers, such as times, are left out.
    """
    if len(content) > _LONGEST_LOG_BYTES:
        raise _unreadable(name, f"it is larger than {_LONGEST_LOG_BYTES // 2**20} MiB")
    try:
        text = content.decode()
        if text.lstrip().startswith("{"):
            rows: Iterable[Mapping[str, object]] = [
                json.loads(line) for line in text.splitlines() if line.strip()
            ]
        else:
            rows = list(csv.DictReader(io.StringIO(text)))
    except (ValueError, RecursionError, csv.Error) as error:
        raise _unreadable(name, str(error)) from error
    found: Counter[tuple[tuple[str, int], ...]] = Counter()
    for row in rows:
        whole = {axis: size for axis, each in row.items() if (size := _whole(each)) is not None}
        calls = next((whole.pop(each) for each in _COUNTS if each in whole), 1)
        if whole and calls > 0:
            found[tuple(sorted(whole.items()))] += calls
    if not found:
        raise _unreadable(name, "it has no row with a whole number")
    return [(dict(shape), calls) for shape, calls in found.items()]


def draft(
    shapes: Iterable[tuple[Axes, int]],
    *,
    fixed: Axes,
    coverage: float = COVERAGE,
    most: int = MOST_NAMED,
    calls: int | None = None,
) -> Drafted:
    """The most frequent shapes up to the share `coverage` of the calls, and the tail.

    `fixed` names every axis of the operator: the sizes of those that the log does not have.
    `calls` are those of the whole log, where `shapes` are only its most frequent. Raises
    FolderError where the log has none of the axes.
    """
    given = list(shapes)
    logged = {axis for axes, _ in given for axis in axes}
    found: Counter[tuple[int, ...]] = Counter()
    for axes, count in given:
        if logged & set(fixed) <= set(axes):
            found[tuple(axes.get(axis, size) for axis, size in fixed.items())] += count
    if not logged & set(fixed):
        raise FolderError(
            f"the log has {', '.join(sorted(logged)) or 'no axis'}, the operator has "
            f"{', '.join(fixed)}: name a column as an axis",
            code="log",
        )
    total = max(calls or 0, found.total())
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
    )


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


def _unreadable(name: str, reason: str) -> FolderError:
    return FolderError(
        f"{name} cannot be read: {reason}. Use CSV with a header or JSON lines, a column an axis",
        code="log",
    )
