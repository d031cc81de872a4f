"""Names of the metrics: "Section/Name" on the details page, raw names on the raw page.

The first name found in an export is used.
"""

from __future__ import annotations

from typing import Final

_SOL = "GPU Speed Of Light Throughput"
_MWA = "Memory Workload Analysis"
_PEAK = ".avg.pct_of_peak_sustained_elapsed"
DURATION = (f"{_SOL}/Duration", "Duration", "gpu__time_duration.sum", "gpu__time_duration.avg")
DRAM = (
    f"{_SOL}/DRAM Throughput",
    f"dram__throughput{_PEAK}",
    f"gpu__dram_throughput{_PEAK}",
    "dram__bytes.sum.pct_of_peak_sustained_elapsed",
    f"dram__cycles_active{_PEAK}",
)
L1 = (f"{_SOL}/L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active")
L2 = (f"{_SOL}/L2 Cache Throughput", f"lts__throughput{_PEAK}")
L1_HITS = (f"{_MWA}/L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct")
L2_HITS = (f"{_MWA}/L2 Hit Rate", "lts__t_sector_hit_rate.pct")
L1_SECTORS = tuple(
    (f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{kind}.sum",)
    for space in ("global", "local")
    for kind in ("ld", "st")
)
L2_SECTORS = ("lts__t_sectors.sum",)
CONFLICTS = ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",)
WAVEFRONTS = ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)
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
BYTES_A_SECOND = ("dram__bytes.sum.per_second", f"{_MWA}/Memory Throughput")

# Stall reasons by the last parts of their raw names, which differ between versions.
STALL_REASONS: Final[dict[str, tuple[str, ...]]] = {
    "selected": ("selected",),
    "long_scoreboard": ("long_scoreboard",),
    "short_scoreboard": ("short_scoreboard",),
    "lg_throttle": ("lg_throttle",),
    "mio_throttle": ("mio_throttle",),
    "tex_throttle": ("tex_throttle",),
    "math_pipe_throttle": ("math_pipe_throttle",),
    "barrier": ("barrier",),
    "membar": ("membar",),
    "wait": ("wait",),
    "not_selected": ("not_selected",),
    "no_instruction": ("no_instruction", "no_instructions"),
    "branch_resolving": ("branch_resolving",),
    "dispatch_stall": ("dispatch_stall",),
    "drain": ("drain",),
    "imc_miss": ("imc_miss",),
    "gmma": ("gmma",),
    "warpgroup_arrive": ("warpgroup_arrive",),
    "sleeping": ("sleeping",),
    "misc": ("misc",),
}
# Patterns of those names, and whether their values are cycles per issued instruction: warps that
# are stalled in a cycle, counted, else sampled.
STALLS: Final = (
    ("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", True),
    ("smsp__pcsamp_warps_issue_stalled_{}", False),
)
_STALLS = tuple(
    tuple(pattern.format(name) for name in names)
    for pattern, _ in STALLS
    for names in STALL_REASONS.values()
)
# The rules whose messages are read.
RULES: Final = frozenset({"HighPipeUtilization", "UncoalescedGlobalAccess", "CPIStall"})

_ALL = (
    DURATION,
    DRAM,
    L1,
    L2,
    L1_HITS,
    L2_HITS,
    *L1_SECTORS,
    L2_SECTORS,
    CONFLICTS,
    WAVEFRONTS,
    *_STALLS,
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


def key(name: str) -> tuple[str, str]:
    """Return section ("" on the raw page) and name of "Section/Name"."""
    section, slash, rest = name.partition("/")
    return (section, rest) if slash else ("", name)


WANTED: Final = frozenset(key(name) for names in _ALL for name in names)
