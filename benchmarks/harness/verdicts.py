"""From a record's raw samples to its verdict, without torch: anyone can repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.harness import statistics
from benchmarks.harness.canonical import digest
from benchmarks.harness.statistics import Estimate, Floats, Samples

Verdict = Literal["met", "missed", "inconclusive", "invalid", "disqualified"]
_WRONG_SHARE = 0.10
# With more rounds than this outside the band the rest says little: no verdict from noise, and
# no room for a candidate to hide slow rounds.
_LEAST_KEPT_SHARE = 0.75


@dataclass(frozen=True, kw_only=True)
class WorkloadSummary:
    """One workload's times in us per call and its ratio; None where nothing counts."""

    name: str
    weight: float
    baseline_us: float | None
    candidate_us: float | None
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The verdict of a record and what it rests on. `rounds` counts pairs over all replicates."""

    verdict: Verdict
    reasons: tuple[str, ...]
    ratio: float | None
    low: float | None
    high: float | None
    target: float
    confidence: float
    workloads: tuple[WorkloadSummary, ...]
    replicates: int
    rounds: int
    calls_checked: int
    detection: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as the record keeps it."""
        data = asdict(self)
        return data | {
            "reasons": list(self.reasons),
            "workloads": [asdict(workload) for workload in self.workloads],
        }


def recompute(record: Mapping[str, Any]) -> Summary:
    """The summary that follows from a record's benchmark, samples and findings.

    What the record says of itself in `summary` is not read. ValueError or KeyError for a
    record that `records.load` would refuse.
    """
    caught = [f for f in record["findings"] if f["side"] == "candidate"]
    if caught:
        return _without_estimate(record, "disqualified", [f["message"] for f in caught])
    invalid = _invalid_reasons(record)
    if invalid:
        return _without_estimate(record, "invalid", invalid)
    return _with_estimate(record)


def _invalid_reasons(record: Mapping[str, Any]) -> list[str]:
    reasons = [finding["message"] for finding in record["findings"]]
    reasons += _wrong_device(record)
    protocol = record["benchmark"]["protocol"]
    replicates = record["replicates"]
    count, least, most = len(replicates), protocol["replicates"], protocol["max_replicates"]
    if not reasons and not least <= count <= most:
        reasons.append(f"{count} replicates, and the benchmark asks for {least} to {most}")
    if not reasons:
        reasons += [
            problem for replicate in replicates for problem in _incomplete(record, replicate)
        ]
    return list(dict.fromkeys(reasons))


def _wrong_device(record: Mapping[str, Any]) -> list[str]:
    sealed = record["benchmark"]["hardware"]
    here = record["environment"]["device"]
    if here["kind"] != sealed["device"]:
        return [f"measured on {here['kind']}, and the benchmark names {sealed['device']}"]
    if sealed["name"] is not None and here["name"] != sealed["name"]:
        return [f"measured on {here['name']}, and the benchmark names {sealed['name']}"]
    return []


def _incomplete(record: Mapping[str, Any], replicate: Mapping[str, Any]) -> list[str]:
    benchmark = record["benchmark"]
    protocol = benchmark["protocol"]
    names = [workload["name"] for workload in replicate["workloads"]]
    if names != [workload["name"] for workload in benchmark["workloads"]]:
        return ["a replicate does not hold exactly the benchmark's workloads"]
    reasons = []
    for workload in replicate["workloads"]:
        rounds, name = workload["rounds"], workload["name"]
        if len(rounds) != protocol["rounds"]:
            reasons.append(
                f"workload {name}: {len(rounds)} rounds, and the benchmark asks for "
                f"{protocol['rounds']}"
            )
        if any(min(r["baseline_us"], r["candidate_us"]) <= 0 for r in rounds):
            reasons.append(
                f"workload {name}: a round was no longer than an empty one, so its time cannot "
                "be told; the benchmark needs a longer round_ms or more max_calls"
            )
        needed = len(rounds) * min(workload["calls"], protocol["checked_calls"])
        if workload["checks"]["calls_checked"] < needed:
            reasons.append(f"workload {name}: fewer calls were checked than the benchmark asks")
    return reasons


def _samples(record: Mapping[str, Any]) -> tuple[Samples, int]:
    """What counts, by workload and replicate, and how many rounds were left out."""
    samples: dict[str, list[tuple[Floats, Floats]]] = {}
    left_out = 0
    for replicate in record["replicates"]:
        for workload in replicate["workloads"]:
            baseline = np.array([r["baseline_us"] for r in workload["rounds"]], dtype=float)
            candidate = np.array([r["candidate_us"] for r in workload["rounds"]], dtype=float)
            kept = statistics.inside_band(baseline, candidate)
            # In a replicate where nothing is inside, everything counts: noise shows as noise.
            kept = kept if kept.any() else ~kept
            left_out += int((~kept).sum())
            samples.setdefault(workload["name"], []).append((baseline[kept], candidate[kept]))
    return samples, left_out


def _with_estimate(record: Mapping[str, Any]) -> Summary:
    benchmark = record["benchmark"]
    samples, left_out = _samples(record)
    estimates = statistics.estimate(
        samples,
        {workload["name"]: workload["weight"] for workload in benchmark["workloads"]},
        confidence=benchmark["confidence"],
        # Sealed before anything is measured, so that nobody can try seeds.
        seed=int(digest(benchmark).removeprefix("sha256:")[:8], 16),
    )
    overall, counts = estimates.overall, _counts(record)
    verdict, reason = _judged(overall, benchmark["target"], benchmark["confidence"])
    reasons = [reason]
    if left_out:
        reasons.append(f"{left_out} of {counts['rounds']} rounds left out as interrupted")
    if left_out > (1 - _LEAST_KEPT_SHARE) * counts["rounds"]:
        verdict = "inconclusive"
        reasons.append("the machine was too busy for a verdict")
    return Summary(
        verdict=verdict,
        reasons=tuple(reasons),
        ratio=overall.ratio,
        low=overall.low,
        high=overall.high,
        workloads=_workloads(record, estimates.workloads),
        **counts,
    )


def _judged(overall: Estimate, target: float, confidence: float) -> tuple[Verdict, str]:
    measured = (
        f"{overall.ratio:.3f}x, {confidence:.0%} interval {overall.low:.3f} to {overall.high:.3f}"
    )
    if overall.low >= target:
        return "met", f"{measured}: all of it at or above the target of {target:g}x"
    if overall.high < target:
        return "missed", f"{measured}: all of it below the target of {target:g}x"
    return "inconclusive", f"{measured}: the target of {target:g}x lies inside"


def _without_estimate(record: Mapping[str, Any], verdict: Verdict, reasons: list[str]) -> Summary:
    return Summary(
        verdict=verdict,
        reasons=tuple(reasons),
        ratio=None,
        low=None,
        high=None,
        workloads=_workloads(record, {}),
        **_counts(record),
    )


def _workloads(
    record: Mapping[str, Any], estimates: Mapping[str, Estimate]
) -> tuple[WorkloadSummary, ...]:
    summaries = []
    for workload in record["benchmark"]["workloads"]:
        found = estimates.get(workload["name"])
        summaries.append(
            WorkloadSummary(
                name=workload["name"],
                weight=workload["weight"],
                baseline_us=None if found is None else found.baseline_us,
                candidate_us=None if found is None else found.candidate_us,
                ratio=None if found is None else found.ratio,
                low=None if found is None else found.low,
                high=None if found is None else found.high,
            )
        )
    return tuple(summaries)


def _counts(record: Mapping[str, Any]) -> dict[str, Any]:
    measured = [w for replicate in record["replicates"] for w in replicate["workloads"]]
    checked = sum(workload["checks"]["calls_checked"] for workload in measured)
    return {
        "target": record["benchmark"]["target"],
        "confidence": record["benchmark"]["confidence"],
        "replicates": len(record["replicates"]),
        "rounds": sum(len(workload["rounds"]) for workload in measured),
        "calls_checked": checked,
        "detection": _detection(checked),
    }


def _detection(checked: int) -> str:
    """How surely a candidate that is wrong on some calls would have been caught."""
    chance = 1 - (1 - _WRONG_SHARE) ** checked
    shown = "more than 99.99%" if chance > 0.9999 else f"{chance:.2%}"
    return f"a candidate wrong on {_WRONG_SHARE:.0%} of calls is caught with {shown}"
