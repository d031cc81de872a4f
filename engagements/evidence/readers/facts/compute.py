"""Facts of single launches under Nsight Compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

# Sections of ncu by name, with what they are needed for.
SECTIONS: Final[dict[str, str]] = {
    "SpeedOfLight": "share of the roofline and binding limit",
    "MemoryWorkloadAnalysis": "hit rates and traffic of the caches",
    "WarpStateStats": "stall reasons",
    "Occupancy": "achieved occupancy",
    "LaunchStats": "waves and shared memory, which distinguish rungs",
    "SourceCounters": "unnecessary sectors, which distinguish rungs",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """A unit of the device: its share of the peak it sustains, hit rate, and bytes moved."""

    name: str
    peak_share: float | None
    hit_rate: float | None = None
    moved_bytes: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether anything of it was measured."""
        return (self.peak_share, self.hit_rate, self.moved_bytes) != (None, None, None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stall:
    """A reason for which warps wait, as a share of the time between two of their instructions.

    `reason` is ncu's name of it. `cycles` per issued instruction are None where it was sampled.
    """

    reason: str
    share: float
    cycles: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredKernel:
    """One launch as Nsight Compute measured it.

    `dram_share`, `memory_share`, `sm_share` and `tensor_share` are shares of the peak that the
    device sustains: of DRAM, of the busiest part of the memory system, of the SMs, of the
    tensor pipes. `excess_share` is the share of sectors moved by global accesses that were not
    needed. `occupancy` is achieved, `theoretical_occupancy` the launch's limit.
    `bound` and `signature` are explained in `nsight_compute.signature`. `dram_bytes` is the DRAM
    traffic in bytes. `units` are those measured, `limit` the one that binds, `conflict_share` the
    share of shared memory's wavefronts that bank conflicts repeat, and `stalls` the largest first.
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
    units: tuple[Unit, ...] = ()
    limit: Unit | None = None
    conflict_share: float | None = None
    stalls: tuple[Stall, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def roofline_share(self) -> float | None:
        """The share of peak of the busiest of DRAM, SMs and tensor cores."""
        known = [share for share in (self.dram_share, self.sm_share, self.tensor_share) if share]
        return min(max(known), 1.0) if known else None

    def has(self, section: str) -> bool:
        """Whether the export has the metrics of a section of ncu."""
        hits = [unit.hit_rate for unit in self.units if unit.hit_rate is not None]
        found: dict[str, object] = {
            "SpeedOfLight": self.bound,
            "MemoryWorkloadAnalysis": hits or None,
            "WarpStateStats": self.stalls or None,
            "Occupancy": self.occupancy,
            "LaunchStats": self.waves,
            "SourceCounters": self.excess_share,
        }
        return found[section] is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class ComputeFacts:
    """Kernels under Nsight Compute, in the order of the export."""

    page: Literal["details", "raw"]
    kernels: tuple[MeasuredKernel, ...]
    kernels_left_out: int
    warnings: tuple[str, ...]
    format: Literal["nsight_compute"] = "nsight_compute"

    @property
    def lacks(self) -> dict[str, str]:
        """The sections of ncu that the export lacks for every kernel, with their use."""
        return {
            name: use
            for name, use in SECTIONS.items()
            if not any(kernel.has(name) for kernel in self.kernels)
        }

    def shown(self) -> dict[str, Any]:
        """Data of `manage.py evidence show --json`."""
        names = ("name", "duration_us", "dram_share", "sm_share", "occupancy", "bound", "signature")
        return {
            "format": self.format,
            "kernels": [{name: getattr(row, name) for name in names} for row in self.kernels],
            "warnings": list(self.warnings),
        }
