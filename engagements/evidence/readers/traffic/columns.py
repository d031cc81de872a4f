"""Recognise the columns of a traffic log by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError

_COUNT: Final = frozenset(
    [
        "count",
        "counts",
        "calls",
        "call_count",
        "num_calls",
        "n_calls",
        "frequency",
        "freq",
        "occurrences",
    ]
)
_TIMESTAMP: Final = frozenset(
    [
        "timestamp",
        "time",
        "ts",
        "date",
        "datetime",
        "at",
        "when",
        "started_at",
        "created_at",
        "start_time",
    ]
)
_MODEL: Final = frozenset(["model", "model_name", "model_id"])
# A row number would make every call a separate shape.
_IDENTITY: Final = frozenset(
    [
        "id",
        "index",
        "row",
        "request_id",
        "call_id",
        "trace_id",
        "uuid",
        "correlation",
        "correlation_id",
        "unnamed:_0",
    ]
)
_UNITS: Final = {
    "ns": "ns",
    "nsec": "ns",
    "nanoseconds": "ns",
    "us": "us",
    "usec": "us",
    "µs": "us",
    "microseconds": "us",
    "ms": "ms",
    "msec": "ms",
    "milliseconds": "ms",
    "s": "s",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
}
_DURATION: Final = re.compile(
    r"(?P<total>total_|sum_)?(?:(?:gpu_|cpu_|wall_|kernel_|step_|call_|mean_|avg_)?"
    r"(?:duration|latency|elapsed|runtime|time|dur)|(?P<bare>total|sum))"
    r"(?P<totalled>_total|_sum)?(?:[ _(\[]+(?P<unit>[a-zµ]+)[)\]]?)?"
)


@dataclass(frozen=True)
class Columns:
    """Column names by meaning; None for a missing column.

    `is_total` when durations are of all calls of a row.
    """

    axes: tuple[str, ...]
    count: str | None
    duration: str | None
    duration_unit: str | None
    is_total: bool
    timestamp: str | None
    model: str | None
    passed_over: tuple[str, ...]


def meaning_of(names: Sequence[str]) -> Columns:
    """Recognise the columns. EvidenceError without an axis."""
    _require_names(names)
    found: dict[str, str] = {}
    unit, is_total = None, False
    axes, passed_over = [], []
    for name in names:
        plain = name.strip().lower().replace(" ", "_")
        duration = _duration(plain)
        if plain in _IDENTITY or not plain:
            passed_over.append(name)
        elif plain in _COUNT and "count" not in found:
            found["count"] = name
        elif plain in _TIMESTAMP and "timestamp" not in found:
            found["timestamp"] = name
        elif plain in _MODEL and "model" not in found:
            found["model"] = name
        elif duration is not None and "duration" not in found:
            found["duration"] = name
            unit, is_total = duration
        else:
            axes.append(name)
    if not axes:
        raise EvidenceError(
            f"No column is an axis of a shape; the columns are {', '.join(names)[:200]}",
            code="evidence.no_axis",
            where="line 1",
        )
    return Columns(
        axes=tuple(axes),
        count=found.get("count"),
        duration=found.get("duration"),
        duration_unit=unit,
        is_total=is_total,
        timestamp=found.get("timestamp"),
        model=found.get("model"),
        passed_over=tuple(passed_over),
    )


def _require_names(names: Sequence[str]) -> None:
    if not names:
        raise EvidenceError(
            "The first row has no columns", code="evidence.no_columns", where="line 1"
        )
    if len(names) > limits.TRAFFIC_COLUMNS:
        raise EvidenceError(
            f"The table has {len(names):,} columns; the limit is {limits.TRAFFIC_COLUMNS}",
            code="evidence.too_many_columns",
        )
    if len(set(names)) != len(names):
        raise EvidenceError(
            "Two columns have the same name; rename one",
            code="evidence.duplicate_column",
            where="line 1",
        )


def _duration(plain: str) -> tuple[str | None, bool] | None:
    """Return the unit of a duration column and whether it is a total; None for another column."""
    match = _DURATION.fullmatch(plain)
    if match is None:
        return None
    unit = _UNITS.get(match["unit"] or "")
    if (match["unit"] and unit is None) or (match["bare"] and unit is None):
        return None
    return unit, bool(match["total"] or match["totalled"] or match["bare"])
