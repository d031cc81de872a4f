"""What makers publish about their devices: drawn and named as theirs, never as measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Roof(NamedTuple):
    """A device's published limits, dense: memory in GB/s, arithmetic in GFLOP/s by dtype."""

    gb_per_s: float
    gflop_per_s: Mapping[str, float]


# NVIDIA's data sheets (H200 SXM, H100 SXM5), without sparsity.
DATA_SHEETS: Final[Mapping[str, Roof]] = {
    "NVIDIA H200": Roof(4800, {"bfloat16": 989_000, "float16": 989_000, "float32": 67_000}),
    "NVIDIA H100 80GB HBM3": Roof(
        3350, {"bfloat16": 989_000, "float16": 989_000, "float32": 67_000}
    ),
}


def published_roof(record: Mapping[str, Any]) -> tuple[float, float] | None:
    """(GB/s, GFLOP/s) that the maker publishes for the device and dtype; None if unknown."""
    roof = DATA_SHEETS.get(record["environment"]["device"]["name"])
    if roof is None:
        return None
    peak = roof.gflop_per_s.get(record["benchmark"]["dtype"])
    return None if peak is None else (roof.gb_per_s, peak)
