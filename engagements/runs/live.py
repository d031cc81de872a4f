"""Live status of a run: progress and estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from benchmarks.models import Run
from benchmarks.queries import queue_position, usual_seconds

PHASES = {
    "starting": "Starting the referee",
    "setup": "Setting up both sides",
    "measuring": "Measuring",
    "checking": "Computing the verdict",
}
# Size of the drawing in SVG units; the stylesheet sets the pixels.
WIDTH, HEIGHT = 600.0, 160.0
# The height of two labels between both lines.
TWO_LABELS = 40.0


@dataclass(frozen=True)
class Curve:
    """The estimate over time as SVG points, in a box of WIDTH by HEIGHT.

    `is_above` when the newest point is above the target, so that the label avoids it. `is_crowded`
    when the lines of target and baseline are so close that their labels point away from each other.
    """

    line: str
    band: str
    target_y: str
    even_y: str
    is_above: bool
    is_crowded: bool


@dataclass(frozen=True)
class Live:
    """Context of the live fragment. Ratios are None before the first measurement."""

    phase: str
    message: str
    percent: str
    position: int | None
    counts: str
    ratio: float | None
    low: float | None
    high: float | None
    target: float
    curve: Curve | None
    elapsed_s: float | None
    usual_s: float | None

    @property
    def announcement(self) -> str:
        """The announcement for screen readers: phase and replicate."""
        if self.position is not None:
            return "Queued"
        return f"{self.phase}, {self.counts}" if self.counts else self.phase


def live_of(run: Run) -> Live:
    """Return the live status of a queued or running run."""
    progress: dict[str, Any] = run.progress if run.state == Run.State.RUNNING else {}
    target = float(run.benchmark.document["target"])
    phase = str(progress.get("phase") or "starting")
    return Live(
        phase=PHASES.get(phase, phase.capitalize()),
        message=str(progress.get("message") or ""),
        percent=f"{_percent(progress, run):.1f}",
        position=queue_position(run),
        counts=_counts(progress),
        ratio=progress.get("ratio"),
        low=progress.get("low"),
        high=progress.get("high"),
        target=target,
        curve=curve_of(progress.get("history") or [], target),
        elapsed_s=_elapsed_s(run),
        usual_s=usual_seconds(run),
    )


def _elapsed_s(run: Run) -> float | None:
    if run.state != Run.State.RUNNING or run.started_at is None:
        return None
    return (timezone.now() - run.started_at).total_seconds()


def _counts(progress: dict[str, Any]) -> str:
    if not progress.get("replicate"):
        return ""
    return f"replicate {progress['replicate']} of {progress.get('replicates')}"


def _percent(progress: dict[str, Any], run: Run) -> float:
    """Return the progress in percent, over replicates and their workloads."""
    replicates, rounds = progress.get("replicates") or 0, progress.get("rounds") or 0
    if not replicates or not rounds:
        return 0.0
    workloads = [workload["name"] for workload in run.benchmark.document["workloads"]]
    # Between events of a workload the message has another format: count the workload as done.
    name = progress.get("message")
    before = workloads.index(name) if name in workloads else len(workloads) - 1
    in_workload = min((progress.get("round") or 0) / rounds, 1.0)
    in_replicate = (before + in_workload) / len(workloads)
    done = max((progress.get("replicate") or 1) - 1, 0) + in_replicate
    return min(100.0 * done / replicates, 100.0)


def curve_of(history: list[dict[str, Any]], target: float) -> Curve | None:
    """Return the estimate so far as a curve; None before two points."""
    points = [point for point in history if point.get("ratio") is not None]
    if len(points) < 2:
        return None
    start, end = points[0]["at_s"], max(points[-1]["at_s"], points[0]["at_s"] + 1e-9)
    tops = [float(point.get("high") or point["ratio"]) for point in points]
    top = max(target * 1.25, min(max(tops), 3 * max(target, points[-1]["ratio"])) * 1.05)

    def x(point: dict[str, Any]) -> str:
        return f"{WIDTH * (point['at_s'] - start) / (end - start):.1f}"

    def y(value: float) -> str:
        return f"{HEIGHT * (1 - min(max(value, 0) / top, 1)):.1f}"

    is_crowded = HEIGHT * abs(target - 1) / top < TWO_LABELS
    known = [point for point in points if point.get("low") is not None]
    upper = [f"{x(point)},{y(point['high'])}" for point in known]
    lower = [f"{x(point)},{y(point['low'])}" for point in reversed(known)]
    return Curve(
        line=" ".join(f"{x(point)},{y(point['ratio'])}" for point in points),
        band=" ".join([*upper, *lower]) if len(known) > 1 else "",
        target_y=y(target),
        even_y=y(1.0),
        is_above=float(points[-1]["ratio"]) >= target and not is_crowded,
        is_crowded=is_crowded,
    )
