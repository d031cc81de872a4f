"""Rows of a log as columns of numbers: shape, count, duration, time."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from engagements.evidence.readers import limits
from engagements.evidence.readers.arrays import Floats, Integers
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.traffic.columns import Columns

MOST_CALLS = 10**15
# 30 years in nanoseconds; sums of longer durations would overflow.
LONGEST = 1e18


@dataclass
class Calls:
    """Logged calls: `shape`, `count`, `duration` (per call) and `when`.

    NaN is a duration or time that was not logged.
    """

    columns: Columns
    shapes: list[tuple[str, ...]] = field(default_factory=list)
    shape: array[int] = field(default_factory=lambda: array("i"))
    count: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    when: array[float] = field(default_factory=lambda: array("d"))
    models: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, frame: pd.DataFrame) -> None:
        """Add a batch. EvidenceError beyond the limits."""
        counts = _counts(frame, self.columns)
        valid = counts > 0
        self.left_out += int(np.sum(~valid))
        frame, counts = frame[valid], counts[valid]
        if not len(frame):
            return
        durations = _numbers_of(frame, self.columns.duration)
        durations[~((durations >= 0) & (durations <= LONGEST))] = np.nan
        if self.columns.is_total:
            durations = durations / counts
        self.shape.frombytes(self._shapes_of(frame).astype(np.int32).tobytes())
        self.count.frombytes(counts.tobytes())
        self.duration.frombytes(durations.tobytes())
        self.when.frombytes(_times_of(frame, self.columns.timestamp).tobytes())
        self._count_models(frame, counts)
        if len(self.shape) > limits.TRAFFIC_ROWS:
            raise EvidenceError(
                f"The log has more than {limits.TRAFFIC_ROWS:,} rows; upload a histogram instead, "
                "one row per shape with its count",
                code="evidence.too_many_rows",
            )

    def _shapes_of(self, frame: pd.DataFrame) -> Integers:
        axes = frame[list(self.columns.axes)].astype(str)
        groups = axes.groupby(list(axes.columns), sort=False)
        codes = groups.ngroup().to_numpy()
        firsts = np.unique(codes, return_index=True)[1]
        numbers = [
            self._number(row) for row in axes.iloc[firsts].itertuples(index=False, name=None)
        ]
        return np.asarray(numbers)[codes]

    def _number(self, row: tuple[str, ...]) -> int:
        shape = tuple(value.strip()[:200] for value in row)
        known = self._numbers.get(shape)
        if known is not None:
            return known
        if len(self.shapes) >= limits.TRAFFIC_SHAPES:
            raise EvidenceError(
                f"The log has more than {limits.TRAFFIC_SHAPES:,} different shapes by "
                f"{', '.join(self.columns.axes)[:200]}; remove columns that are not axes",
                code="evidence.too_many_shapes",
            )
        self._numbers[shape] = len(self.shapes)
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def _count_models(self, frame: pd.DataFrame, counts: Floats) -> None:
        if self.columns.model is None:
            return
        totals = pd.Series(counts, index=frame.index).groupby(frame[self.columns.model]).sum()
        for name, calls in totals.items():
            if str(name) in self.models or len(self.models) < limits.MODELS:
                short = str(name)[:200]
                self.models[short] = self.models.get(short, 0) + int(calls)


def _counts(frame: pd.DataFrame, columns: Columns) -> Floats:
    """Return the number of calls of each row; 0 when invalid."""
    if columns.count is None:
        return np.ones(len(frame))
    counts = np.floor(_numbers_of(frame, columns.count))
    return np.where((counts >= 1) & (counts < MOST_CALLS), counts, 0.0)


def _numbers_of(frame: pd.DataFrame, name: str | None) -> Floats:
    if name is None:
        return np.full(len(frame), np.nan)
    found = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, copy=True)
    found[~np.isfinite(found)] = np.nan
    return found


def _times_of(frame: pd.DataFrame, name: str | None) -> Floats:
    """Convert timestamps to sortable numbers, in any unit."""
    if name is None:
        return np.full(len(frame), np.nan)
    numbers = _numbers_of(frame, name)
    if not np.isnan(numbers).all():
        return numbers
    moments = pd.to_datetime(frame[name], errors="coerce", utc=True, format="ISO8601")
    seconds = (moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    return seconds.to_numpy(dtype=np.float64)
