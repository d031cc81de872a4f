"""What of a machine's measured ceilings bounds what; nothing here measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A product of 8-bit integers: no contract's dtype, and what no other arithmetic of a card exceeds
# before those with four bits.
EIGHT_BITS = "int8"


def fastest_per_s(ceilings: Mapping[str, Any]) -> float:
    """Operations that nobody on this machine exceeds, in however few bits they compute."""
    return float(max(ceilings["matmul_flops_per_s"].values()))


def floats_per_s(ceilings: Mapping[str, Any]) -> float:
    """Floating-point operations of the quickest dtype measured: what shares are of."""
    rates = ceilings["matmul_flops_per_s"].items()
    floats = (rate for dtype, rate in rates if dtype != EIGHT_BITS)
    return float(max(floats, default=fastest_per_s(ceilings)))
