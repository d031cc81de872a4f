"""The measured limits of the device: copy bandwidth and matrix-product rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Roof(NamedTuple):
    """Copy bandwidth and the rate of a square matrix product, in GB/s and GFLOP/s."""

    gb_per_s: float
    gflop_per_s: float


def measured_roof(record: Mapping[str, Any]) -> Roof | None:
    """Return the limits measured for the benchmark's dtype; None when not measured."""
    ceilings = record["environment"]["ceilings"]
    if ceilings is None:
        return None
    rate = ceilings["matmul_flops_per_s"].get(record["benchmark"]["dtype"])
    return None if rate is None else Roof(ceilings["copy_bytes_per_s"] / 1e9, rate / 1e9)
