"""Data and alt texts of the catalogue's charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.published.reports import Report
from engagements.charts.limits import Roof, measured_roof
from engagements.common.ratios import measured
from kernels import catalogue


@dataclass(frozen=True)
class Point:
    """An operator alone at the heaviest workload of its record, on both sides.

    `intensity` in FLOP per byte; rates in GFLOP/s.
    """

    name: str
    intensity: float
    candidate_gflop_per_s: float
    baseline_gflop_per_s: float


def title_of(report: Report) -> str:
    """Return the title of a record's operator."""
    return catalogue.definition(report.operator).title


def device_of(found: Sequence[Report]) -> str | None:
    """Return the device of most records, as limits of different devices cannot share a chart."""
    counted = Counter(report.device for report in found)
    return counted.most_common(1)[0][0] if counted else None


def points(found: Sequence[Report]) -> list[Point]:
    """Return the points of the first record of each operator on that device with arithmetic."""
    device = device_of(found)
    drawn: dict[str, Point] = {}
    for report in found:
        entry = _heaviest(report)
        if report.device != device or report.operator in drawn or entry is None:
            continue
        flops, moved = entry["flops"], entry["bytes"]
        if flops and moved:
            drawn[report.operator] = Point(
                name=title_of(report),
                intensity=flops / moved,
                candidate_gflop_per_s=flops / entry["candidate_us"] / 1e3,
                baseline_gflop_per_s=flops / entry["baseline_us"] / 1e3,
            )
    return sorted(drawn.values(), key=lambda point: point.intensity)


def roof(found: Sequence[Report]) -> Roof | None:
    """Return the best limits in those records for their dtype."""
    device = device_of(found)
    roofs = [measured_roof(report.record) for report in found if report.device == device]
    known = [each for each in roofs if each is not None]
    if not known:
        return None
    return Roof(max(each.gb_per_s for each in known), max(each.gflop_per_s for each in known))


def roofline(found: Sequence[Report]) -> str:
    """Describe every kernel's position on the roofline."""
    lines = [
        f"{point.name}: {point.intensity:.3g} FLOP per byte, candidate "
        f"{point.candidate_gflop_per_s:.4g} GFLOP/s, baseline "
        f"{point.baseline_gflop_per_s:.4g} GFLOP/s."
        for point in points(found)
    ]
    if not lines:
        return "No operator was measured alone."
    over = roof(found)
    if over is not None:
        lines.append(
            f"The machine itself copies {over.gb_per_s:.4g} GB/s and multiplies matrices at "
            f"{over.gflop_per_s:.4g} GFLOP/s."
        )
    return " ".join(lines)


def ratios(found: Sequence[Report]) -> str:
    """Describe every record's ratio with its interval."""
    lines = []
    for report in rows(found):
        strongest = ""
        if report.strongest not in (None, report.baseline) and report.against_strongest:
            over = measured(report.against_strongest)
            strongest = f", {over} over {report.strongest} by the survey"
        lines.append(
            f"{title_of(report)}: {measured(report.ratio)} over {report.baseline}, "
            f"{measured(report.low)} to {measured(report.high)}, {report.verdict}{strongest}."
        )
    return " ".join(lines) or "No ratio was measured."


def rows(found: Sequence[Report]) -> list[Report]:
    """Return the records with a ratio, largest first."""
    timed = [report for report in found if report.ratio is not None]
    return sorted(timed, key=lambda report: -(report.ratio or 0.0))


def _heaviest(report: Report) -> Any:
    """Return the operator alone at the workload with most traffic; None when not measured."""
    entries = (report.record["operator"] or {"workloads": []})["workloads"]
    timed = [one for one in entries if one["candidate_us"] and one["baseline_us"]]
    weights = {load["name"]: load["weight"] for load in report.record["benchmark"]["workloads"]}
    return max(timed, key=lambda one: float(weights[one["name"]]), default=None)
