"""Facts of single launches under Nsight Compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredKernel:
    """One launch as Nsight Compute measured it.

    `dram_share`, `memory_share`, `sm_share` and `tensor_share` are shares of the peak that the
    device sustains: of DRAM, of the busiest part of the memory system, of the SMs, of the
    tensor pipes. `excess_share` is the share of sectors moved by global accesses that were not
    needed. `occupancy` is achieved, `theoretical_occupancy` the launch's limit.
    `bound` and `signature` are explained in `nsight_compute.signature`. `dram_bytes` is the DRAM
    traffic in bytes.
    """

    id: str
    name: str
    duration_us: float | None
    dram_share: float | None
    memory_share: float | None
    sm_share: float | None
    tensor_share: float | None
    excess_share: float | None
    occupancy: float | None
    theoretical_occupancy: float | None
    dram_bytes: float | None
    waves: float | None
    registers: int | None
    grid: str
    block: str
    device: str
    compute_capability: str
    passes: int
    bound: str | None
    signature: str | None
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ComputeFacts:
    """Kernels under Nsight Compute, in the order of the export."""

    page: Literal["details", "raw"]
    kernels: tuple[MeasuredKernel, ...]
    kernels_left_out: int
    warnings: tuple[str, ...]
    format: Literal["nsight_compute"] = "nsight_compute"

    def shown(self) -> dict[str, Any]:
        """Data of `manage.py evidence show --json`."""
        names = ("name", "duration_us", "dram_share", "sm_share", "occupancy", "bound", "signature")
        return {
            "format": self.format,
            "kernels": [{name: getattr(row, name) for name in names} for row in self.kernels],
            "warnings": list(self.warnings),
        }
