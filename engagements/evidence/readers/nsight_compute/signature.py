"""The bound of a kernel, and its rung on the optimisation ladder.

`bound` follows the rule of Nsight Compute's "GPU Speed Of Light": the busiest unit above 60% of its
peak, or latency without one. A kernel is bound by memory when DRAM is above, or when a cache or the
load units are and neither DRAM nor the SMs are.

`signature` is the highest rung whose condition the profile meets:

- `tuned`: DRAM or the SMs at 80% of their peak or more; only another algorithm gains more.
- `pipelined`: tensor cores at 50% of their peak or more: their operands arrive in time.
- `tensor cores`: tensor cores in use (5% or more), often waiting.
- `naive`: at least half of the sectors of global accesses are unnecessary.
- `tiled`: threads share blocks of the inputs in shared memory.
- `too small`: fewer blocks than the device runs at once (or under 5 us), and no unit busy.
- `coalesced`: none of these conditions; accesses are coalesced, each line used by one thread.

Where accesses and shared memory were not counted (sections SourceCounters and
LaunchStats), a kernel without a higher mark is `coalesced` from 25% of DRAM's or the SMs' peak,
`naive` below 5%, and None between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MEMORY: Final = "memory"
COMPUTE: Final = "compute"
LATENCY: Final = "latency"

BOUND_SHARE: Final = 0.60
TUNED_SHARE: Final = 0.80
PIPELINED_TENSOR_SHARE: Final = 0.50
TENSOR_SHARE: Final = 0.05
EXCESS_SHARE: Final = 0.50
BUSY_SHARE: Final = 0.25
NAIVE_SHARE: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Inputs of bound and signature. None is not measured.

    `excess` is the share of unnecessary sectors of global accesses; `uses_shared` whether the
    kernel uses shared memory.
    """

    dram: float | None
    memory: float | None
    sm: float | None
    tensor: float | None
    excess: float | None
    uses_shared: bool | None
    is_small: bool

    @property
    def is_unmeasured(self) -> bool:
        """Whether neither DRAM nor the SMs were measured."""
        return self.dram is None and self.sm is None


def bound(marks: Marks) -> str | None:
    """Return the bound of the kernel; None when neither DRAM nor the SMs were measured."""
    if marks.is_unmeasured:
        return None
    dram, sm = marks.dram or 0.0, marks.sm or 0.0
    if max(dram, sm) >= BOUND_SHARE:
        return MEMORY if dram >= sm else COMPUTE
    return MEMORY if (marks.memory or 0.0) >= BOUND_SHARE else LATENCY


def signature(marks: Marks) -> str | None:
    """Return the highest rung whose condition is met; None when inconclusive."""
    if marks.is_unmeasured:
        return None
    highest = max(marks.dram or 0.0, marks.sm or 0.0)
    tensor = marks.tensor or 0.0
    if highest >= TUNED_SHARE:
        return "tuned"
    if tensor >= TENSOR_SHARE:
        return "pipelined" if tensor >= PIPELINED_TENSOR_SHARE else "tensor cores"
    if marks.excess is not None and marks.excess >= EXCESS_SHARE:
        return "naive"
    if marks.uses_shared:
        return "tiled"
    if marks.is_small and highest < BUSY_SHARE:
        return "too small"
    if marks.excess is not None or highest >= BUSY_SHARE:
        return "coalesced"
    return "naive" if highest < NAIVE_SHARE else None
