"""Descriptions of the charts, for alt attributes and for the SVG's own description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.verdict.explanations import level, shown_level
from engagements.charts.limits import measured_roof
from engagements.common.ratios import measured, times

Data = Mapping[str, Any]


def ratio_interval(record: Data) -> str:
    """The end-to-end ratio with its interval against the target, then each workload's."""
    summary = record["summary"]
    if summary["ratio"] is None:
        return "No ratio was measured."
    share = shown_level(level(summary) or summary["confidence"])
    lines = [
        f"End to end {measured(summary['ratio'])}, {share} interval {measured(summary['low'])} to "
        f"{measured(summary['high'])}, target {measured(summary['target'])}."
    ]
    for item in summary["workloads"]:
        lines.append(
            f"{item['name']}: {measured(item['ratio'])}, "
            f"{measured(item['low'])} to {measured(item['high'])}."
        )
    return " ".join(lines)


def ratio_distribution(record: Data) -> str:
    """The distribution of the rounds' ratios, by replicate."""
    if record["summary"]["ratio"] is None:
        return "No ratio was measured."
    lines = []
    for name, replicates in round_ratios(record).items():
        parts = [
            f"replicate {index} median {measured(median(ratios))} over {len(ratios)} rounds"
            for index, ratios in enumerate(replicates, start=1)
            if ratios
        ]
        lines.append(f"{name}: {', '.join(parts)}.")
    return " ".join(lines) or "No rounds were measured."


def workload_bars(record: Data) -> str:
    """The time of one call on both sides, by workload."""
    lines = [
        f"{item['name']}: baseline {duration(item['baseline_us'])}, "
        f"candidate {duration(item['candidate_us'])}."
        for item in record["summary"]["workloads"]
        if item["baseline_us"] is not None and item["candidate_us"] is not None
    ]
    return " ".join(lines) or "No times were measured."


def roofline(record: Data) -> str:
    """The operator's speed in arithmetic and in memory traffic, by workload."""
    points = operator_points(record)
    if not points:
        return "The operator alone was not measured."
    lines = []
    for point in points:
        lines.append(
            f"{point['name']}, {point['side']}: {point['intensity']:.3g} FLOP per byte, "
            f"{point['gflop_per_s']:.4g} GFLOP/s, {point['gb_per_s']:.4g} GB/s."
        )
    roof = measured_roof(record)
    if roof is not None:
        lines.append(
            f"The machine itself copies {roof.gb_per_s:.4g} GB/s and multiplies matrices at "
            f"{roof.gflop_per_s:.4g} GFLOP/s."
        )
    return " ".join(lines)


def estimate_history(progress: Data) -> str:
    """The present estimate."""
    history = progress.get("history") or []
    if not history:
        return "No estimate yet."
    last = history[-1]
    return (
        f"After {last['at_s']:.0f} seconds: {measured(last['ratio'])}, interval "
        f"{measured(last['low'])} to {measured(last['high'])}."
    )


def interval_text(low: float, high: float) -> str:
    """Return an interval as text: one number where both ends round to the same."""
    return measured(low) if low == high else f"{measured(low)} to {measured(high)}"


def short(value: float | None) -> str:
    """A ratio with as many digits as it takes: 2×, 3.13×, 40×."""
    return "not known" if value is None else times(f"{value:.3g}")


def duration(microseconds: float | None) -> str:
    """A time of one call in the unit that reads best; 'not measured' for None."""
    if microseconds is None:
        return "not measured"
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f} s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.2f} ms"
    return f"{microseconds:.1f} µs"


def round_ratios(record: Data) -> dict[str, list[list[float]]]:
    """Workload name to one list of round ratios (baseline / candidate) per replicate."""
    found: dict[str, list[list[float]]] = {}
    for replicate in record["replicates"]:
        for workload in replicate["workloads"]:
            ratios = [
                each["baseline_us"] / each["candidate_us"]
                for each in workload["rounds"]
                if min(each["baseline_us"], each["candidate_us"]) > 0
            ]
            found.setdefault(workload["name"], []).append(ratios)
    return {name: lists for name, lists in found.items() if any(lists)}


def operator_points(record: Data) -> list[dict[str, Any]]:
    """Each side of each workload whose operator was measured alone, on the roofline plane."""
    operator: Data = record.get("operator") or {}
    workloads: Sequence[Data] = operator.get("workloads") or []
    points: list[dict[str, Any]] = []
    for item in workloads:
        for side in ("baseline", "candidate"):
            took_us, flops, moved = item[f"{side}_us"], item["flops"], item["bytes"]
            if not (took_us and flops and moved):
                continue
            points.append(
                {
                    "name": item["name"],
                    "side": side,
                    "intensity": flops / moved,
                    "gflop_per_s": flops / took_us / 1e3,
                    "gb_per_s": moved / took_us / 1e3,
                }
            )
    return points
