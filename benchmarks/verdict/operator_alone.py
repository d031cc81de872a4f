"""The operator measured alone: rates, shares of the ceilings, Amdahl's account.

Amdahl: a step of time B whose operator calls take b in all, and c with the candidate, should take B
- (b - c). The rest of the measured ratio (warmer caches, overlap, clocks) is reported as
unexplained. A step may call the operator in several shapes, each measured by itself; times, FLOPs
and bytes of a workload's operator are the mean of the step's calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.verdict.statistics import interruptions
from benchmarks.verdict.statistics.estimates import Floats
from benchmarks.verdict.statistics.exclusions import counted_rounds, times_us
from benchmarks.verdict.statistics.interruptions import uninterrupted


@dataclass(frozen=True, kw_only=True)
class OperatorCalls:
    """A step's operator calls of one shape, with each side's times in us per call."""

    calls: int
    baseline: Floats
    candidate: Floats


def measured_calls(record: Mapping[str, Any]) -> dict[str, list[OperatorCalls] | None]:
    """Every workload's operator calls by shape; None where a shape of the step was not measured.

    Records from before slots existed measured one shape, and do not show whether it is the only
    one; they count as complete here.
    """
    costs = {cost["name"]: cost for cost in record["observations"]["costs"] or []}
    found: dict[str, list[OperatorCalls] | None] = {}
    for name in dict.fromkeys(entry["name"] for entry in record["observations"]["operator"] or []):
        pairs = {
            entry.get("slot", 0): entry
            for entry in record["observations"]["operator"]
            if entry["name"] == name
        }
        cost = costs.get(name, {"operator_calls": 1})
        slots = cost.get("slots", [{"calls": cost["operator_calls"]}])
        complete = set(pairs) == set(range(len(slots)))
        found[name] = (
            [_of_slot(record, slot, pairs[index]) for index, slot in enumerate(slots)]
            if complete
            else None
        )
    return found


def _of_slot(
    record: Mapping[str, Any], slot: Mapping[str, Any], pair: Mapping[str, Any]
) -> OperatorCalls:
    baseline, candidate = times_us(pair["rounds"])
    kept = uninterrupted(baseline, candidate, interruptions.sealed(record))
    if kept.any():
        baseline, candidate = baseline[kept], candidate[kept]
    return OperatorCalls(calls=slot["calls"], baseline=baseline, candidate=candidate)


def summarize(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record's `operator`; None where the operator was not measured alone."""
    steps = {
        name: (
            float(np.mean([baseline.mean() for baseline, _ in replicates])),
            float(np.mean([candidate.mean() for _, candidate in replicates])),
        )
        for name, replicates in counted_rounds(record).samples.items()
    }
    costs = {cost["name"]: cost for cost in record["observations"]["costs"] or []}
    workloads = [
        _workload(record, name, found, costs.get(name), steps[name])
        for name, found in measured_calls(record).items()
        if found is not None
    ]
    return {"workloads": workloads} if workloads else None


def _workload(
    record: Mapping[str, Any],
    name: str,
    found: list[OperatorCalls],
    cost: Mapping[str, Any] | None,
    step_us: tuple[float, float],
) -> dict[str, Any]:
    calls = sum(each.calls for each in found)
    baseline_us = sum(each.calls / calls * float(each.baseline.mean()) for each in found)
    candidate_us = sum(each.calls / calls * float(each.candidate.mean()) for each in found)
    return {
        "name": name,
        "baseline_us": baseline_us,
        "candidate_us": candidate_us,
        "ratio": baseline_us / candidate_us,
        "flops": None if cost is None else cost["flops"],
        "bytes": None if cost is None else cost["bytes"],
        "ceiling_shares": {
            "baseline": _shares(record, cost, baseline_us),
            "candidate": _shares(record, cost, candidate_us),
        },
        "account": _account(cost, baseline_us, candidate_us, step_us),
    }


def _shares(
    record: Mapping[str, Any], cost: Mapping[str, Any] | None, took_us: float
) -> dict[str, float | None]:
    """Shares of the measured copy bandwidth and matmul rate; None where not measured."""
    ceilings = record["environment"]["ceilings"]
    if ceilings is None or cost is None or cost["flops"] is None:
        return {"bandwidth": None, "arithmetic": None}
    rate = ceilings["matmul_flops_per_s"].get(record["benchmark"]["dtype"])
    took_s = took_us / 1e6
    return {
        "bandwidth": cost["bytes"] / took_s / ceilings["copy_bytes_per_s"],
        "arithmetic": None if rate is None else cost["flops"] / took_s / rate,
    }


def _account(
    cost: Mapping[str, Any] | None,
    baseline_us: float,
    candidate_us: float,
    step_us: tuple[float, float],
) -> dict[str, float | None] | None:
    """How the operator's ratio becomes the step's; None where its calls are not counted."""
    if cost is None:
        return None
    calls = cost["operator_calls"]
    measured = step_us[0] / step_us[1]
    left_us = step_us[0] - calls * (baseline_us - candidate_us)
    predicted = step_us[0] / left_us if left_us > 0 else None
    return {
        "operator_calls": calls,
        "share_of_baseline_step": calls * baseline_us / step_us[0],
        "predicted_ratio": predicted,
        "measured_ratio": measured,
        "unexplained": None if predicted is None else measured / predicted - 1,
    }
