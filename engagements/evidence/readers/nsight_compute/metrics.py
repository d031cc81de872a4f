"""Names of the metrics: "Section/Name" on the details page, raw names on the raw page.

The first name found in an export is used.
"""

from __future__ import annotations

from typing import Final

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
STATIC_SHARED = (
    "Launch Statistics/Static Shared Memory Per Block",
    "launch__shared_mem_per_block_static",
)
DYNAMIC_SHARED = (
    "Launch Statistics/Dynamic Shared Memory Per Block",
    "launch__shared_mem_per_block_dynamic",
)
EXCESSIVE = ("derived__memory_l2_theoretical_sectors_global_excessive",)
SECTORS = ("memory_l2_theoretical_sectors_global",)
# Present when accesses were counted; without a rule, no sector is unnecessary.
BRANCHES = ("Source Counters/Branch Instructions",)
BYTES = ("dram__bytes.sum",)
BYTES_READ = ("dram__bytes_read.sum",)
BYTES_WRITTEN = ("dram__bytes_write.sum",)
BYTES_A_SECOND = ("dram__bytes.sum.per_second", "Memory Workload Analysis/Memory Throughput")

_ALL = (
    DURATION,
    DRAM,
    MEMORY,
    SM,
    OCCUPANCY,
    THEORETICAL_OCCUPANCY,
    TENSOR,
    WAVES,
    REGISTERS,
    STATIC_SHARED,
    DYNAMIC_SHARED,
    EXCESSIVE,
    SECTORS,
    BRANCHES,
    BYTES,
    BYTES_READ,
    BYTES_WRITTEN,
    BYTES_A_SECOND,
)
# By section ("" on the raw page) and name.
WANTED: Final = frozenset(name.rpartition("/")[::2] for names in _ALL for name in names)
