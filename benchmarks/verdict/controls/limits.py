"""Upper bounds from a machine's measured ceilings."""

from collections.abc import Mapping
from typing import Any

# Products of 8-bit integers: not a contract's dtype, but the fastest arithmetic above 4 bits.
EIGHT_BITS = "int8"


def fastest_per_s(ceilings: Mapping[str, Any]) -> float:
    """The highest measured rate of operations, whatever the dtype."""
    return float(max(ceilings["matmul_flops_per_s"].values()))


def floats_per_s(ceilings: Mapping[str, Any]) -> float:
    """The highest measured rate of floating-point operations, the reference for shares."""
    rates = ceilings["matmul_flops_per_s"].items()
    floats = (rate for dtype, rate in rates if dtype != EIGHT_BITS)
    return float(max(floats, default=fastest_per_s(ceilings)))
