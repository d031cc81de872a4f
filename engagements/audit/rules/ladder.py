"""The optimisation ladder: where the present kernel stands, from its profiler signature."""

from __future__ import annotations

from engagements.audit.rules import roofline
from engagements.audit.rules.advice import Rung
from engagements.audit.rules.collecting import base_name
from engagements.audit.rules.inputs import AuditInputs

_RUNGS = {
    "naive": (1, "more than half of what it moves is not needed, or nothing is busy"),
    "coalesced": (2, "whole lines are moved, each used by one thread"),
    "tiled": (3, "shared memory holds blocks that many threads use"),
    "tensor cores": (4, "tensor cores are in use and often wait"),
    "pipelined": (5, "tensor cores are busy: their operands arrive in time"),
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
    """The rung of the operator's longest kernel; None where its profile does not tell."""
    kernels = roofline.headroom(inputs).kernels
    longest = next((kernel for kernel in kernels if kernel.signature), None)
    if longest is None or longest.signature is None:
        return None
    name = base_name(longest.name)
    if longest.signature not in _RUNGS:
        return Rung(
            number=None,
            name=longest.signature,
            seen=f"{name} is over before the device is full: it stands beside the ladder.",
            next_step="more work a launch: a larger batch, fewer and fused kernels, CUDA graphs",
        )
    number, seen = _RUNGS[longest.signature]
    return Rung(
        number=number,
        name=longest.signature,
        seen=f"{name}: {seen}.",
        next_step=_NEXT.get(number),
    )
