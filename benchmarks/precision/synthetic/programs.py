"""The benchmark of a synthetic program of a chosen length, at the default protocol."""

from __future__ import annotations

from typing import Any

from benchmarks.precision import conditions

# The approximate time of one unit on an H200.
_UNIT_US = {"cuda": 35.0, "cpu": 25.0}
_TRUE_RATIO = 2.2
# As in the catalogue's presets for a GPU.
_DEFAULT = {
    "replicates": 4,
    "max_replicates": 8,
    "rounds": 12,
    "warmup_rounds": 2,
    "round_ms": 50.0,
    "max_calls": 64,
    "checked_calls": 2,
    "setup_limit_s": 240.0,
    "round_limit_s": 60.0,
    "held_back_shapes": 4,
    "warmup_ms": 300.0,
    "aa_rounds": 8,
    "operator_rounds": 6,
}


def units_of(device: str, call_us: float, true_ratio: float) -> tuple[int, int]:
    """The units of baseline and candidate, for a baseline of about `call_us` per call."""
    candidate_units = max(1, round(call_us / _UNIT_US[device] / true_ratio))
    return round(true_ratio * candidate_units), candidate_units


def benchmark(device: str, call_us: int) -> dict[str, Any]:
    """A benchmark with a baseline of about `call_us` and a candidate of truly 2.2x."""
    baseline_units, candidate_units = units_of(device, call_us, _TRUE_RATIO)
    work = conditions.Condition(
        name=f"{call_us} us",
        baseline_units=baseline_units,
        candidate_units=candidate_units,
        call_us=None,
        axes=conditions.AXES[device],
    )
    document = conditions.document(device, _DEFAULT)
    return document | {"workloads": [conditions.workload(work)]}
