"""The conditions of a trial, and the benchmark of the synthetic operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.sides import operators
from kernels import protocols

FOLDER = Path(__file__).with_name("synthetic")
CANDIDATE = FOLDER / "unit_products" / "candidate.py"
WORKLOAD = "units"
TARGET, CONFIDENCE = 2.0, 0.95
# As in decoding, a product of few rows reads the weights, is memory bound and draws too little
# power to be throttled. The weights have 256 MiB, over four times an H200's L2; with less, rounds
# would need more calls to exceed it. Each call is its own graph without copies: launching a product
# takes 9 to 17 us of Python, which would dominate short calls.
AXES = {
    "cuda": {"rows": 16, "columns": 8192, "layers": 2},
    "cpu": {"rows": 16, "columns": 128, "layers": 2},
}
# The shortest call is a single product.
SHORT_AXES = {
    "cuda": {"rows": 16, "columns": 4096, "layers": 8},
    "cpu": {"rows": 16, "columns": 128, "layers": 2},
}
DTYPES = {"cuda": "bfloat16", "cpu": "float32"}
_CALLS_US = {"cuda": (10, 100, 1_000, 10_000), "cpu": (2_000,)}
# True ratios of 1.95, 2.00 and 2.05; a busy machine can only resolve distant ones.
_CANDIDATE_UNITS = 20
_BASELINE_UNITS = {"cuda": (39, 40, 41), "cpu": (10, 80)}
_PROTOCOL = {
    # The pairs, rounds and band of a contract for an H200.
    "cuda": {
        "replicates": protocols.H200.replicates,
        "rounds": protocols.H200.rounds,
        "round_ms": 40.0,
        "warmup_ms": 100.0,
        "interrupted_band": protocols.H200.interrupted_band,
    },
    "cpu": {
        "replicates": 3,
        "rounds": 6,
        "round_ms": 12.0,
        "warmup_ms": 0.0,
        "interrupted_band": 0.03,
    },
}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Work of known ratio; `call_us` is set for A/A, None for other ratios.

    `axes` are the operator's axes except its units.
    """

    name: str
    baseline_units: int
    candidate_units: int
    call_us: int | None
    axes: Mapping[str, int]

    @property
    def true_ratio(self) -> float:
        """The ratio by construction."""
        return self.baseline_units / self.candidate_units


def conditions(device: str, unit_us: float) -> list[Condition]:
    """The A/A sizes, then the powers; `unit_us` is the time of one unit."""
    same = []
    for call_us in _CALLS_US[device]:
        units = max(1, round(call_us / unit_us))
        name = f"{call_us} us" if call_us < 1_000 else f"{call_us // 1_000} ms"
        axes = SHORT_AXES[device] if units == 1 else AXES[device]
        same.append(
            Condition(
                name=name,
                baseline_units=units,
                candidate_units=units,
                call_us=call_us,
                axes=axes,
            )
        )
    powers = [
        Condition(
            name=f"{units / _CANDIDATE_UNITS:.2f}x",
            baseline_units=units,
            candidate_units=_CANDIDATE_UNITS,
            call_us=None,
            axes=AXES[device],
        )
        for units in _BASELINE_UNITS[device]
    ]
    return same + powers


def workload(condition: Condition) -> dict[str, Any]:
    """The document's workload of a condition."""
    axes = {
        **condition.axes,
        "baseline_units": condition.baseline_units,
        "candidate_units": condition.candidate_units,
    }
    return {"name": WORKLOAD, "axes": axes, "weight": 1.0}


def document(device: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The benchmark of a trial with `changes` to its protocol; its workload is set later."""
    definition = operators.part("unit_products", "op").DEFINITION
    plain = json.loads(json.dumps(definition.as_data()))
    protocol = {**_PROTOCOL[device], **changes}
    return {
        "schema": "twofold.benchmark/1",
        "name": "unit_products/precision",
        "operator": "unit_products",
        "dtype": DTYPES[device],
        "definition": plain,
        "program": {
            "name": plain["program"],
            "launch": "graph" if device == "cuda" else "eager",
        },
        "sources": operators.source_digests(
            "unit_products", ["program.py", "reference.py", "baselines.py"]
        ),
        "workloads": [],
        "tolerance": plain["tolerances"][DTYPES[device]],
        "baseline": {"name": "units", "package": "torch", "title": "torch.mm"},
        "hardware": {"device": device, "name": None},
        "calibration": None,
        "target": TARGET,
        "confidence": CONFIDENCE,
        "protocol": {
            "max_replicates": protocol["replicates"],
            "warmup_rounds": 1,
            "max_calls": 8192,
            "checked_calls": 1,
            "setup_limit_s": 60.0,
            "round_limit_s": 60.0,
            "held_back_shapes": 0,
            "look_every": 2,
            "operator_rounds": 0,
            "aa_rounds": 0,
            "clock_band": 0.15,
            "max_discarded": 0.25,
            "noise_band": 0.1,
            **protocol,
        },
    }
