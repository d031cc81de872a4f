"""The optimisation ladder: the present kernel's rung, from its profiler signature."""

from __future__ import annotations

from engagements.audit.rules import roofline
from engagements.audit.rules.advice import Rung
from engagements.audit.rules.collecting import base_name
from engagements.audit.rules.inputs import AuditInputs

_RUNGS = {
    "naive": (1, "more than half of its memory traffic is unnecessary, or no unit is busy"),
    "coalesced": (2, "accesses are coalesced, each line used by one thread"),
    "tiled": (3, "threads share blocks of data in shared memory"),
    "tensor cores": (4, "tensor cores are in use but often wait"),
    "pipelined": (5, "tensor cores are busy and rarely wait for operands"),
    "tuned": (6, "DRAM or the SMs are at 80% of their peak or more"),
}
_NEXT = {
    1: "coalesce its accesses, so that neighbouring threads read neighbouring memory",
    2: "tile through shared memory: load a block once, use it many times",
    3: "use the tensor cores, on aligned tiles",
    4: "pipeline: load the next tiles while this one is computed",
    5: "tune tile sizes, warps and stages for the traffic's shapes",
}


def rung(inputs: AuditInputs) -> Rung | None:
    """Return the rung of the operator's longest kernel; None when its profile is inconclusive."""
    kernels = roofline.headroom(inputs).kernels
    longest = next((kernel for kernel in kernels if kernel.signature), None)
    return explained(longest.name, longest.signature) if longest else None


def explained(kernel: str, signature: str | None) -> Rung | None:
    """Return the rung of a kernel in words; None when its profile is inconclusive."""
    if signature is None:
        return None
    name = base_name(kernel)
    if signature not in _RUNGS:
        return Rung(
            number=None,
            name=signature,
            seen=f"{name} is too small to fill the device, so the ladder does not apply.",
            next_step="more work per launch: a larger batch, fused kernels, CUDA graphs",
        )
    number, seen = _RUNGS[signature]
    return Rung(
        number=number,
        name=signature,
        seen=f"{name}: {seen}.",
        next_step=_NEXT.get(number),
    )
