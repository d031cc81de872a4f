"""The roof over an operator: what the machine reached by itself, measured in the same run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Roof(NamedTuple):
    """Copy bandwidth and the rate of a square matrix product, in GB/s and GFLOP/s."""

    gb_per_s: float
    gflop_per_s: float


def measured_roof(record: Mapping[str, Any]) -> Roof | None:
    """The ceilings that the referee measured for the benchmark's dtype; None if it did not."""
    ceilings = record["environment"]["ceilings"]
    if ceilings is None:
        return None
    rate = ceilings["matmul_flops_per_s"].get(record["benchmark"]["dtype"])
    return None if rate is None else Roof(ceilings["copy_bytes_per_s"] / 1e9, rate / 1e9)
