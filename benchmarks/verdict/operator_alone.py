"""The operator measured alone: rates, shares of the ceilings, Amdahl's account.

Amdahl: a step of time B with n operator calls of b each, and c with the candidate, should take B -
n (b - c). The rest of the measured ratio (warmer caches, overlap, clocks) is reported as
unexplained.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.statistics.exclusions import counted_rounds, times_us
from benchmarks.verdict.statistics.interruptions import sealed_band, uninterrupted


def summarize(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record's `operator`; None where the operator was not measured alone."""
    entries = record["observations"]["operator"]
    if not entries:
        return None
    steps = {
        name: (
            float(np.mean([baseline.mean() for baseline, _ in replicates])),
            float(np.mean([candidate.mean() for _, candidate in replicates])),
        )
        for name, replicates in counted_rounds(record).samples.items()
    }
    costs = {cost["name"]: cost for cost in record["observations"]["costs"] or []}
    return {
        "workloads": [
            _workload(record, entry, costs.get(entry["name"]), steps[entry["name"]])
            for entry in entries
        ]
    }


def _workload(
    record: Mapping[str, Any],
    entry: Mapping[str, Any],
    cost: Mapping[str, Any] | None,
    step_us: tuple[float, float],
) -> dict[str, Any]:
    baseline, candidate = times_us(entry["rounds"])
    kept = uninterrupted(baseline, candidate, sealed_band(record))
    if kept.any():
        baseline, candidate = baseline[kept], candidate[kept]
    baseline_us, candidate_us = float(baseline.mean()), float(candidate.mean())
    return {
        "name": entry["name"],
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
    if ceilings is None or cost is None:
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
