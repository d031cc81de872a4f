"""From ncu's export to facts: the same metrics under the names of either page."""

from __future__ import annotations

from engagements.evidence import limits
from engagements.evidence.errors import EvidenceError
from engagements.evidence.facts import ComputeFacts, MeasuredKernel
from engagements.evidence.nsight_compute import pages, signature
from engagements.evidence.nsight_compute.measures import Measures
from engagements.evidence.nsight_compute.table import table_of
from engagements.evidence.opening import Opened

# A launch alone takes 2 to 3 us on the device.
SHORT_US = 5.0
_SOL = "GPU Speed Of Light Throughput"
_PEAK = ".avg.pct_of_peak_sustained_elapsed"
DURATION = (f"{_SOL}/Duration", "Duration", "gpu__time_duration.sum", "gpu__time_duration.avg")
DRAM = (
    f"{_SOL}/DRAM Throughput",
    f"dram__throughput{_PEAK}",
    f"gpu__dram_throughput{_PEAK}",
    "dram__bytes.sum.pct_of_peak_sustained_elapsed",
    f"dram__cycles_active{_PEAK}",
)
MEMORY = (
    f"{_SOL}/Memory Throughput",
    f"gpu__compute_memory_throughput{_PEAK}",
)
SM = (f"{_SOL}/Compute (SM) Throughput", f"{_SOL}/SM Throughput", f"sm__throughput{_PEAK}")
OCCUPANCY = (
    "Occupancy/Achieved Occupancy",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)
THEORETICAL_OCCUPANCY = (
    "Occupancy/Theoretical Occupancy",
    "sm__maximum_warps_per_active_cycle_pct",
)
TENSOR = (
    # The pipe as a whole also runs plain half-precision arithmetic on Hopper.
    f"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active{_PEAK}",
    f"sm__pipe_tensor_cycles_active{_PEAK}",
    f"sm__pipe_tensor_op_hmma_cycles_active{_PEAK}",
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    f"sm__inst_executed_pipe_tensor{_PEAK}",
)
WAVES = ("Launch Statistics/Waves Per SM", "launch__waves_per_multiprocessor")
REGISTERS = ("Launch Statistics/Registers Per Thread", "launch__registers_per_thread")
BYTES = ("dram__bytes.sum",)
BYTES_READ, BYTES_WRITTEN = ("dram__bytes_read.sum",), ("dram__bytes_write.sum",)
BYTES_A_SECOND = ("dram__bytes.sum.per_second", "Memory Workload Analysis/Memory Throughput")


def read(opened: Opened) -> ComputeFacts:
    """The facts of an export. EvidenceError when it holds no launch."""
    content = opened.whole(limits.TABLE_BYTES)
    table = table_of(_text(content))
    launches, warnings = pages.launches_of(table)
    if not launches:
        last = f": {table.messages[-1]}" if table.messages else ""
        raise EvidenceError(f"The export holds no kernel{last}")
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


def _text(content: bytes) -> str:
    """Text of ncu, or of a redirect in PowerShell, which writes UTF-16."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content.decode(encoding, "replace").lstrip("\ufeff")
    return content.decode("utf-8", "replace").lstrip("\ufeff").replace("\0", " ")


def _kernel(launch: Measures) -> MeasuredKernel:
    dram, memory, sm = launch.share(*DRAM), launch.share(*MEMORY), launch.share(*SM)
    tensor, waves = launch.share(*TENSOR), launch.plain(*WAVES)
    registers = launch.plain(*REGISTERS)
    return MeasuredKernel(
        id=launch.id,
        name=launch.name,
        duration_us=launch.us(*DURATION),
        dram_share=dram,
        memory_share=memory,
        sm_share=sm,
        tensor_share=tensor,
        occupancy=launch.share(*OCCUPANCY),
        theoretical_occupancy=launch.share(*THEORETICAL_OCCUPANCY),
        dram_bytes=_dram_bytes(launch),
        waves=waves,
        registers=None if registers is None else int(registers),
        grid=launch.grid,
        block=launch.block,
        device=launch.device,
        compute_capability=launch.compute_capability,
        passes=launch.passes,
        bound=signature.bound(dram=dram, memory=memory, sm=sm),
        signature=signature.signature(
            dram=dram, memory=memory, sm=sm, tensor=tensor, is_small=_is_small(launch)
        ),
        advice=tuple(launch.advice),
    )


def _is_small(launch: Measures) -> bool:
    """Whether the grid does not fill the device, or the launch is over before it could."""
    waves, duration_us = launch.plain(*WAVES), launch.us(*DURATION)
    if waves is not None:
        return waves < 1.0
    return duration_us is not None and duration_us < SHORT_US


def _dram_bytes(launch: Measures) -> float | None:
    """What went through DRAM: as counted, else its rate times the duration."""
    counted = launch.bytes(*BYTES)
    if counted is not None:
        return counted
    read_bytes, written = launch.bytes(*BYTES_READ), launch.bytes(*BYTES_WRITTEN)
    if read_bytes is not None and written is not None:
        return read_bytes + written
    rate, duration_us = launch.bytes(*BYTES_A_SECOND), launch.us(*DURATION)
    return None if rate is None or duration_us is None else rate * duration_us / 1e6
