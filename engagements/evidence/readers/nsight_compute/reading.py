"""Compute facts from an Nsight Compute export of either page."""

from __future__ import annotations

import re

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.facts import ComputeFacts, MeasuredKernel
from engagements.evidence.readers.nsight_compute import levels, metrics, pages, signature, stalls
from engagements.evidence.readers.nsight_compute.measures import Measures
from engagements.evidence.readers.nsight_compute.table import Table
from engagements.evidence.readers.opening import Opened

# An empty launch takes 2 to 3 us on the device.
SHORT_US = 5.0
_BUSIEST_PIPE = re.compile(r"^(.{1,80}?) is the highest-utilized pipeline \((\d+(?:\.\d+)?)%\)")
_EXCESS = re.compile(r"excessive sectors \((\d+(?:\.\d+)?)% of the total")


def read(opened: Opened) -> ComputeFacts:
    """Read an export. EvidenceError without launches."""
    table = Table(opened)
    launches, warnings = pages.launches_of(table)
    if not launches:
        last = f": {table.messages[-1]}" if table.messages else ""
        raise EvidenceError(f"The export has no kernels{last}", code="evidence.no_kernels")
    kernels = [_kernel(launch) for launch in launches]
    missing = sum(kernel.occupancy is None for kernel in kernels)
    if missing:
        warnings.append(
            f"Achieved occupancy was not measured for {missing:,} of {len(kernels):,} "
            "kernels (add --section Occupancy)."
        )
    odd = sum(kernel.bound is None for kernel in kernels)
    if odd:
        warnings.append(
            f"Neither DRAM nor SM throughput was measured for {odd:,} of "
            f"{len(kernels):,} kernels (add --section SpeedOfLight)."
        )
    said = [message for message in table.messages if not message.startswith("==PROF==")]
    listed = kernels[: limits.LISTED_KERNELS]
    return ComputeFacts(
        page="details" if pages.is_details(table) else "raw",
        kernels=tuple(listed),
        kernels_left_out=len(kernels) - len(listed),
        warnings=tuple((said + warnings)[: limits.WARNINGS]),
    )


def _kernel(launch: Measures) -> MeasuredKernel:
    marks = signature.Marks(
        dram=launch.share(*metrics.DRAM),
        memory=launch.share(*metrics.MEMORY),
        sm=launch.share(*metrics.SM),
        tensor=_tensor(launch),
        excess=_excess(launch),
        uses_shared=_uses_shared(launch),
        is_small=_is_small(launch),
    )
    registers, dram_bytes = launch.plain(*metrics.REGISTERS), _dram_bytes(launch)
    units = levels.units(launch, marks, dram_bytes)
    return MeasuredKernel(
        id=launch.id,
        name=launch.name,
        duration_us=launch.us(*metrics.DURATION),
        dram_share=marks.dram,
        memory_share=marks.memory,
        sm_share=marks.sm,
        tensor_share=marks.tensor,
        excess_share=marks.excess,
        occupancy=launch.share(*metrics.OCCUPANCY),
        theoretical_occupancy=launch.share(*metrics.THEORETICAL_OCCUPANCY),
        dram_bytes=dram_bytes,
        waves=launch.plain(*metrics.WAVES),
        registers=None if registers is None else int(registers),
        grid=launch.grid,
        block=launch.block,
        device=launch.device,
        compute_capability=launch.compute_capability,
        passes=launch.passes,
        bound=signature.bound(marks),
        signature=signature.signature(marks),
        units=units,
        limit=levels.limit(units, marks),
        conflict_share=levels.conflict_share(launch),
        stalls=stalls.stalls(launch),
        advice=tuple(launch.advice),
    )


def _tensor(launch: Measures) -> float | None:
    """Return the use of tensor cores as counted, else from the rule about the busiest pipe."""
    counted = launch.share(*metrics.TENSOR)
    if counted is not None:
        return counted
    for said in launch.rules.get("HighPipeUtilization", ()):
        if found := _BUSIEST_PIPE.search(said):
            return float(found[2]) / 100.0 if "tensor" in found[1].lower() else None
    return None


def _excess(launch: Measures) -> float | None:
    """Return the unnecessary share of sectors of global accesses, as counted or from a rule."""
    needless, all_of_them = launch.plain(*metrics.EXCESSIVE), launch.plain(*metrics.SECTORS)
    if needless is not None and all_of_them:
        return min(1.0, needless / all_of_them)
    for said in launch.rules.get("UncoalescedGlobalAccess", ()):
        if found := _EXCESS.search(said):
            return min(1.0, float(found[1]) / 100.0)
    # The rule has a message only if it finds any.
    return 0.0 if launch.plain(*metrics.BRANCHES) is not None else None


def _uses_shared(launch: Measures) -> bool | None:
    """Return whether the kernel uses shared memory beyond the driver's."""
    parts = [launch.plain(*metrics.STATIC_SHARED), launch.plain(*metrics.DYNAMIC_SHARED)]
    known = [part for part in parts if part is not None]
    return any(part > 0 for part in known) if known else None


def _is_small(launch: Measures) -> bool:
    """Return whether the grid does not fill the device, or the launch is too short to."""
    waves, duration_us = launch.plain(*metrics.WAVES), launch.us(*metrics.DURATION)
    if waves is not None:
        return waves < 1.0
    return duration_us is not None and duration_us < SHORT_US


def _dram_bytes(launch: Measures) -> float | None:
    """Return the DRAM traffic as counted, else its rate times the duration."""
    counted = launch.bytes(*metrics.BYTES)
    if counted is not None:
        return counted
    read_bytes, written = launch.bytes(*metrics.BYTES_READ), launch.bytes(*metrics.BYTES_WRITTEN)
    if read_bytes is not None and written is not None:
        return read_bytes + written
    rate, duration_us = launch.bytes(*metrics.BYTES_A_SECOND), launch.us(*metrics.DURATION)
    return None if rate is None or duration_us is None else rate * duration_us / 1e6
