"""From a record's raw samples to its verdict, without torch: anyone can repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.harness import controls
from benchmarks.harness.statistics import interim
from benchmarks.harness.statistics.estimates import Estimate, Estimates, estimate
from benchmarks.harness.statistics.exclusions import Counted, counted
from benchmarks.harness.verdict import completeness, noise

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
class Look:
    """What the first `replicates` replicates say at the level of their look."""

    replicates: int
    confidence: float
    low: float
    high: float
    verdict: Verdict
    reasons: tuple[str, ...]
    estimates: Estimates

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as the summary keeps it."""
        return {
            "replicates": self.replicates,
            "confidence": self.confidence,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The verdict of a record and what it rests on. `rounds` counts pairs over all replicates.

    `confidence` is the sealed one, and `low` to `high` the interval of the look at which the
    run stopped, taken at that look's own, higher level so that the interval keeps the sealed
    confidence although the run was looked at more than once (see `looks`).
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    ratio: float | None
    low: float | None
    high: float | None
    target: float
    confidence: float
    workloads: tuple[WorkloadSummary, ...]
    looks: tuple[dict[str, Any], ...]
    replicates: int
    rounds: int
    calls_checked: int
    detection: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as the record keeps it."""
        data = asdict(self)
        return data | {
            "reasons": list(self.reasons),
            "looks": list(self.looks),
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
    invalid = completeness.unusable(record)
    if invalid:
        return _without_estimate(record, "invalid", invalid)
    taken = looks_of(record)
    invalid = _went_on(taken) + _failed_controls(record)
    if invalid:
        return _without_estimate(record, "invalid", invalid)
    return _with_estimate(record, taken)


def counts_of(record: Mapping[str, Any]) -> Counted:
    """Which of a record's rounds count, and how many were left out for which reason."""
    return counted(record)


def looks_of(record: Mapping[str, Any]) -> list[Look]:
    """Every look that the run took, in order; the last decides."""
    scheduled = interim.schedule(record["benchmark"]["protocol"])
    return [look(record, each) for each in scheduled if each <= len(record["replicates"])]


def _went_on(taken: list[Look]) -> list[str]:
    """Nobody measures on in the hope of another verdict."""
    return [
        f"the run went on after {each.replicates} replicates had said {each.verdict!r}"
        for each in taken[:-1]
        if each.verdict != "inconclusive"
    ]


def controls_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every control's outcome as plain data; none for a record that ended before its time."""
    if record["findings"] or completeness.unusable(record):
        return []
    return [control.as_data() for control in controls.judge(record)]


def _failed_controls(record: Mapping[str, Any]) -> list[str]:
    return [
        f"control '{control['name']}' failed: {control['detail']}"
        for control in controls_of(record)
        if control["passed"] is False
    ]


def look(record: Mapping[str, Any], replicates: int) -> Look:
    """What the first `replicates` replicates say by themselves, controls aside.

    ValueError when the schedule has no such look.
    """
    benchmark = record["benchmark"]
    level = interim.confidence_at(benchmark["protocol"], replicates, benchmark["confidence"])
    found = counted(record, replicates)
    weights = {workload["name"]: workload["weight"] for workload in benchmark["workloads"]}
    estimates = estimate(found.samples, weights, confidence=level)
    overall = estimates.overall
    verdict, reason = _judged(overall, benchmark["target"], level)
    reasons = [reason]
    doubts = (
        noise.doubt_of_rounds(record, found.samples, weights, overall.ratio),
        noise.doubt_of_left_out(record, found, weights, overall.ratio),
    )
    for doubt in doubts:
        if doubt is not None:
            verdict = "inconclusive"
            reasons.append(doubt)
    if found.unsteady:
        reasons.append(f"{found.unsteady} of {found.rounds} rounds discarded: unsteady clocks")
    if found.interrupted:
        reasons.append(f"{found.interrupted} of {found.rounds} rounds left out as interrupted")
    reasons += noise.caveats(record, replicates)
    if found.interrupted > (1 - _LEAST_KEPT_SHARE) * found.rounds:
        verdict = "inconclusive"
        reasons.append("the machine was too busy for a verdict")
    return Look(
        replicates=replicates,
        confidence=level,
        low=overall.low,
        high=overall.high,
        verdict=verdict,
        reasons=tuple(reasons),
        estimates=estimates,
    )


def _with_estimate(record: Mapping[str, Any], taken: list[Look]) -> Summary:
    last = taken[-1]
    overall = last.estimates.overall
    # Only here, since the pair is measured after the replicates.
    found = (
        noise.doubt_of_same_code(record, overall.ratio),
        noise.doubt_of_slowed_baseline(record, counted(record).samples, overall.ratio),
    )
    doubts = tuple(doubt for doubt in found if doubt is not None)
    return Summary(
        verdict="inconclusive" if doubts else last.verdict,
        reasons=(*last.reasons, *doubts),
        ratio=overall.ratio,
        low=overall.low,
        high=overall.high,
        workloads=_workloads(record, last.estimates.workloads),
        looks=tuple(each.as_data() for each in taken),
        **_counts(record),
    )


def _judged(overall: Estimate, target: float, level: float) -> tuple[Verdict, str]:
    interval = f"{100 * level:.3g}% interval {overall.low:.3f} to {overall.high:.3f}"
    measured = f"{overall.ratio:.3f}x, {interval}"
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
        looks=(),
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
