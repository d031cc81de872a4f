"""What a kernel is bound by, and how far up the optimisation ladder its profile puts it.

`bound` follows the rule of Nsight Compute's "GPU Speed Of Light": a unit above 60% of its peak
is what the kernel is bound by, the busiest first; when none is, it waits: latency. A kernel is
bound by memory when DRAM is, or when a cache or the interconnect is and neither DRAM nor the
SMs are.

`signature` is the highest rung whose mark the profile bears:

- `tuned`: 80% of a roofline or more; nothing left to win without another algorithm.
- `pipelined`: tensor cores at 50% of their peak or more: their operands arrive in time.
- `tensor cores`: tensor cores in use (5% or more), often waiting.
- `tiled`: no tensor cores, the SMs above 60% or most reads served by a cache: data is reused.
- `coalesced`: DRAM or another part of memory above 25%: whole lines are moved.
- `naive`: below all that, on a grid that fills the device.
- `too small`: below all that, with fewer blocks than the device takes at once or over in 5 us.
"""

from __future__ import annotations

from typing import Final

MEMORY: Final = "memory"
COMPUTE: Final = "compute"
LATENCY: Final = "latency"

BOUND_SHARE: Final = 0.60
TUNED_SHARE: Final = 0.80
PIPELINED_TENSOR_SHARE: Final = 0.50
TENSOR_SHARE: Final = 0.05
COALESCED_SHARE: Final = 0.25


def bound(*, dram: float | None, memory: float | None, sm: float | None) -> str | None:
    """What the kernel is bound by; None when neither DRAM nor the SMs were measured."""
    if dram is None and sm is None:
        return None
    high_dram, high_sm = (dram or 0.0) >= BOUND_SHARE, (sm or 0.0) >= BOUND_SHARE
    if high_dram and high_sm:
        return MEMORY if (dram or 0.0) >= (sm or 0.0) else COMPUTE
    if high_dram or high_sm:
        return MEMORY if high_dram else COMPUTE
    return MEMORY if (memory or 0.0) >= BOUND_SHARE else LATENCY


def signature(
    *,
    dram: float | None,
    memory: float | None,
    sm: float | None,
    tensor: float | None,
    is_small: bool,
) -> str | None:
    """The highest rung that the profile shows; None when neither DRAM nor the SMs were measured."""
    if dram is None and sm is None:
        return None
    highest = max(dram or 0.0, sm or 0.0)
    uses_tensor_cores = tensor is not None and tensor >= TENSOR_SHARE
    if highest >= TUNED_SHARE:
        return "tuned"
    if uses_tensor_cores:
        return "pipelined" if (tensor or 0.0) >= PIPELINED_TENSOR_SHARE else "tensor cores"
    if (sm or 0.0) >= BOUND_SHARE:
        return "tiled"
    if max(highest, memory or 0.0) >= COALESCED_SHARE:
        return "coalesced"
    return "too small" if is_small else "naive"
