"""Compute the verdict from a record's raw samples, without torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from benchmarks.verdict import completeness, controls, noise, precision
from benchmarks.verdict.statistics import interim, rules
from benchmarks.verdict.statistics.estimates import Estimate, Estimates, estimate
from benchmarks.verdict.statistics.exclusions import counted_rounds, counting

Verdict = Literal["met", "missed", "inconclusive", "invalid", "disqualified"]
_WRONG_SHARE = 0.10
# Below this share of counted rounds there is no verdict: noise cannot decide, and a candidate
# cannot hide slow rounds.
_LEAST_KEPT_SHARE = 0.75


@dataclass(frozen=True, kw_only=True)
class Look:
    """The verdict of the first `replicates` replicates at the level of their look."""

    replicates: int
    confidence: float
    low: float
    high: float
    verdict: Verdict
    reasons: tuple[str, ...]
    estimates: Estimates

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data for the summary."""
        return {
            "replicates": self.replicates,
            "confidence": self.confidence,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The verdict of a record and its basis. `rounds` counts pairs over all replicates.

    `confidence` is the sealed one. `low` to `high` is the interval of the look at which the run
    stopped, at that look's higher level, so that it holds the sealed confidence for the whole run
    (see `interim`).
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    ratio: float | None
    low: float | None
    high: float | None
    target: float
    confidence: float
    workloads: tuple[dict[str, Any], ...]
    looks: tuple[dict[str, Any], ...]
    replicates: int
    rounds: int
    calls_checked: int
    detection: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data for the record."""
        data = asdict(self)
        return data | {
            "reasons": list(self.reasons),
            "looks": list(self.looks),
            "workloads": list(self.workloads),
        }


def recompute(record: Mapping[str, Any]) -> Summary:
    """Compute the summary from a record's benchmark, samples and findings.

    The record's own `summary` is not read. Raises ValueError or KeyError for a record that
    `records.load` would reject.
    """
    caught = [f["message"] for f in record["findings"] if f["side"] == "candidate"]
    caught += precision.excess(record)
    if caught:
        return _without_estimate(record, "disqualified", caught)
    invalid = completeness.unusable(record)
    if invalid:
        return _without_estimate(record, "invalid", invalid)
    taken = looks_of(record)
    invalid = _went_on(taken) + _failed_controls(record)
    if invalid:
        return _without_estimate(record, "invalid", invalid)
    return _with_estimate(record, taken)


def looks_of(record: Mapping[str, Any]) -> list[Look]:
    """Every look of the run, in order; the last decides."""
    scheduled = interim.schedule(record["benchmark"]["protocol"])
    return [look(record, each) for each in scheduled if each <= len(record["replicates"])]


def _went_on(taken: list[Look]) -> list[str]:
    """A run must stop at its first verdict."""
    return [
        f"the run went on after {each.replicates} replicates had said {each.verdict!r}"
        for each in taken[:-1]
        if each.verdict != "inconclusive"
    ]


def controls_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The controls' outcomes as plain data; empty for a record that allows no estimate."""
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
    """Judge the first `replicates` replicates, without controls.

    Raises ValueError when the schedule has no such look.
    """
    benchmark = record["benchmark"]
    level = interim.confidence_at(benchmark["protocol"], replicates, benchmark["confidence"])
    found = counted_rounds(record, replicates)
    weights = {workload["name"]: workload["weight"] for workload in benchmark["workloads"]}
    bounded = rules.of(record) > 1
    estimates = estimate(counting(record, found), weights, confidence=level, bounded=bounded)
    overall = estimates.overall
    verdict, reason = _judged(overall, benchmark["target"], level)
    reasons = [reason]
    doubts = (
        noise.noisy_rounds(record, found.samples, weights, overall.ratio),
        noise.one_sided_exclusions(record, found, weights, overall.ratio),
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
    # The A/A pair and the rest of the step are measured after all replicates.
    samples = counted_rounds(record).samples
    found = (
        noise.chaining_taken_off(record, samples, overall.low),
        noise.noisy_same_code(record, overall.ratio),
        noise.slowed_baseline(record, samples, overall.ratio),
        noise.slowed_clocks(record, overall.ratio),
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
) -> tuple[dict[str, Any], ...]:
    """Each workload's times in us per call and its ratio; None where no rounds count."""
    nothing = dict.fromkeys(field.name for field in fields(Estimate))
    return tuple(
        {"name": workload["name"], "weight": workload["weight"]}
        | (asdict(estimates[workload["name"]]) if workload["name"] in estimates else nothing)
        for workload in record["benchmark"]["workloads"]
    )


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
    """The chance of catching a candidate that is wrong on some calls, in words."""
    chance = 1 - (1 - _WRONG_SHARE) ** checked
    shown = "more than 99.99%" if chance > 0.9999 else f"{chance:.2%}"
    return f"a candidate wrong on {_WRONG_SHARE:.0%} of calls is caught with {shown}"
