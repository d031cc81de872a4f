"""Peak rates of GPUs from NVIDIA's data sheets: bytes and dense operations per second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Peak rates of a GPU. `operations_per_s`, by dtype, is of tensor cores without sparsity."""

    architecture: str
    bytes_per_s: float
    operations_per_s: Mapping[str, float]


def _tensor(half: float, eight: float | None, tf32: float) -> dict[str, float]:
    known = {"bfloat16": half, "float16": half, "float32": tf32}
    return known | ({"int8": eight, "float8": eight} if eight else {})


_HOPPER = _tensor(989e12, 1979e12, 494e12)
_AMPERE = _tensor(312e12, None, 156e12) | {"int8": 624e12}

# By substrings of their names, the more specific first.
PEAKS = {
    "B200": Peak(
        architecture="sm100",
        bytes_per_s=8e12,
        operations_per_s=_tensor(2250e12, 4500e12, 1100e12),
    ),
    "H200": Peak(architecture="sm90", bytes_per_s=4.8e12, operations_per_s=_HOPPER),
    "H100 PCIe": Peak(
        architecture="sm90",
        bytes_per_s=2.0e12,
        operations_per_s=_tensor(756e12, 1513e12, 378e12),
    ),
    "H100": Peak(architecture="sm90", bytes_per_s=3.35e12, operations_per_s=_HOPPER),
    "A100-SXM4-40GB": Peak(architecture="sm80", bytes_per_s=1.555e12, operations_per_s=_AMPERE),
    "A100": Peak(architecture="sm80", bytes_per_s=2.039e12, operations_per_s=_AMPERE),
    "L40S": Peak(
        architecture="sm89",
        bytes_per_s=0.864e12,
        operations_per_s=_tensor(362e12, 733e12, 183e12),
    ),
    "L4": Peak(
        architecture="sm89",
        bytes_per_s=0.3e12,
        operations_per_s=_tensor(121e12, 242e12, 60e12),
    ),
}


def peak(name: str | None) -> Peak | None:
    """Return the peak rates of the device of this name; None for an unknown device."""
    return next((known for part, known in PEAKS.items() if name and part in name), None)
