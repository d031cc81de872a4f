"""The ratios of an engagement's runs on one benchmark, by upload, against target and ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from engagements.common.ratios import with_interval
from engagements.runs import record_files
from engagements.runs.ceilings import NOISE, own_ceiling
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of, verdict_of

WIDTH, HEIGHT = 600.0, 160.0
# Choices of how many of the newest runs are drawn.
ZOOMS = (10, 50)


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """A measured run: its ratio end to end or at one workload."""

    run: EngagementRun
    verdict: str
    ratio: float | None
    low: float | None
    high: float | None

    @property
    def label(self) -> str:
        """The run in a few words, for a tooltip."""
        commit = f", {self.run.commit[:10]}" if self.run.commit else ""
        ratio = with_interval(self.ratio, self.low, self.high)
        return f"{self.run.run.solution.name}{commit}: {ratio}"


@dataclass(frozen=True, kw_only=True)
class Point:
    """A run in the drawing, in SVG units; without an interval, low and high are its own y."""

    row: HistoryRow
    x: str
    y: str
    low: str
    high: str


@dataclass(frozen=True, kw_only=True)
class History:
    """The measured runs of one benchmark, newest first."""

    benchmark: Any
    workload: str
    workloads: Sequence[str]
    rows: Sequence[HistoryRow]
    target: float
    ceiling: float | None
    points: Sequence[Point]
    target_y: str
    even_y: str
    ceiling_y: str | None

    @property
    def exceeded(self) -> str:
        """Say that runs are above the ceiling; "" where none is."""
        above = [str(row.run.pk) for row in self.rows if self._is_above(row)]
        if not above:
            return ""
        runs = f"Run {above[0]} is" if len(above) == 1 else f"Runs {', '.join(above)} are"
        return f"{runs} above the ceiling. {NOISE}"

    def _is_above(self, row: HistoryRow) -> bool:
        return None not in (row.ratio, self.ceiling) and (row.ratio or 0) > (self.ceiling or 0)


def history_of(
    runs: QuerySet[EngagementRun], *, workload: str = "", last: int | None = None
) -> History | None:
    """The history of runs of one benchmark; None without a measured one.

    `workload` is a name of the benchmark's, or "" for the end-to-end ratio. `last` limits the runs.
    """
    measured_runs = list(
        runs.filter(run__record__isnull=False)
        .select_related("engagement", "run__record", "run__solution", "run__benchmark")
        .defer("run__solution__source")
        .order_by("-pk")[:last]
    )
    if not measured_runs:
        return None
    newest = measured_runs[0]
    document = newest.run.benchmark.document
    names = [load["name"] for load in document["workloads"]]
    chosen = workload if workload in names else ""
    rows = [_row(run, chosen) for run in measured_runs]
    target = float(document["target"])
    ceiling = _ceiling(newest, chosen)
    drawn = [row for row in rows if row.ratio is not None]
    known = [row.high or row.ratio or 0 for row in drawn]
    # A far ceiling would flatten everything else.
    near = [ceiling] if ceiling is not None and ceiling < 3 * max([target, *known]) else []
    top = 1.1 * max([target, 1.0, *known, *near])
    return History(
        benchmark=newest.run.benchmark,
        workload=chosen,
        workloads=names,
        rows=rows,
        target=target,
        ceiling=ceiling,
        points=list(_points(drawn[::-1], top)),
        target_y=_y(target, top),
        even_y=_y(1.0, top),
        ceiling_y=_y(near[0], top) if near else None,
    )


def _ceiling(run: EngagementRun, workload: str) -> float | None:
    data, _ = record_files.read(run)
    return None if data is None else own_ceiling(data, workload)


def _row(run: EngagementRun, workload: str) -> HistoryRow:
    record = record_of(run)
    assert record is not None
    found: Mapping[str, Any] = {"ratio": record.ratio, "low": record.low, "high": record.high}
    if workload:
        every = {load["name"]: load for load in record.summary["workloads"]}
        found = every.get(workload, dict.fromkeys(found))
    return HistoryRow(
        run=run,
        verdict=verdict_of(run),
        ratio=found["ratio"],
        low=found["low"],
        high=found["high"],
    )


def _points(rows: Sequence[HistoryRow], top: float) -> Iterator[Point]:
    for place, row in enumerate(rows):
        ratio = row.ratio or 0.0
        low, high = (ratio if value is None else value for value in (row.low, row.high))
        yield Point(
            row=row,
            x=f"{WIDTH * (place + 0.5) / len(rows):.1f}",
            y=_y(ratio, top),
            low=_y(low, top),
            high=_y(high, top),
        )


def _y(value: float, top: float) -> str:
    return f"{HEIGHT * (1 - min(max(value, 0) / top, 1)):.1f}"
