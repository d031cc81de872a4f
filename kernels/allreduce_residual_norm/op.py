"""All-reduce, residual sum and RMSNorm as plain data: axes, tensors, cost. No torch here."""

from __future__ import annotations

from dataclasses import replace

from kernels import presets, protocols
from kernels.definition import (
    ITEM_BYTES,
    Axes,
    Baseline,
    Contents,
    Definition,
    HeldBack,
    Slot,
    SpecialValues,
    TensorSpec,
    Tolerance,
    Workload,
)

_ROWS = ("tokens", "hidden")
_SPLIT = ("ranks", "tokens", "hidden")


def _weight(name: str, *shape: str) -> TensorSpec:
    """A norm's weights: not 1, so that a kernel without them is wrong."""
    return TensorSpec(name=name, shape=shape, distribution="uniform", scale=2.0)


DEFINITION = Definition(
    operator="allreduce_residual_norm",
    title="All-reduce, residual sum and RMSNorm over several GPUs",
    summary=(
        "sum = x of all ranks + residual, rounded to its dtype; normed = sum / sqrt(mean(sum^2) + "
        "1e-5) * weight. Each rank has its own x and writes the whole result; residual and weight "
        "are the same on all ranks."
    ),
    axes={
        "ranks": "processes, each on a GPU of its own",
        "tokens": "rows",
        "layers": "MLPs of the step",
        "hidden": "width of the hidden state",
        "ffn": "inner width of the MLP on one rank",
    },
    state=(_weight("weight", "hidden"),),
    inputs=(TensorSpec(name="x", shape=_SPLIT), TensorSpec(name="residual", shape=_ROWS)),
    outputs=(
        TensorSpec(name="normed", shape=_SPLIT),
        TensorSpec(name="sum", shape=_SPLIT),
    ),
    program="tensor_parallel_mlps",
    program_state=(
        _weight("norm", "layers", "hidden"),
        TensorSpec(
            name="w_gate_up",
            shape=("ranks", "layers", 2, "ffn", "hidden"),
            fan_in=("hidden",),
        ),
        TensorSpec(
            name="w_down", shape=("ranks", "layers", "hidden", "ffn"), fan_in=("ranks", "ffn")
        ),
    ),
    program_inputs=(TensorSpec(name="x", shape=_SPLIT), TensorSpec(name="residual", shape=_ROWS)),
    program_outputs=(
        TensorSpec(name="y", shape=_SPLIT),
        TensorSpec(name="stream", shape=_SPLIT),
    ),
    # A sum that is rounded on its way through the ranks, and again with the residual, is up to
    # three roundings off; the step adds those of its products.
    tolerances={
        "float32": Tolerance(max_abs=2e-4, max_rel=1e-4, matched_share=1.0, hard_cap_abs=1e-2),
        "float16": Tolerance(max_abs=1e-2, max_rel=4e-3, matched_share=0.999, hard_cap_abs=0.25),
        "bfloat16": Tolerance(
            max_abs=6e-2, max_rel=2.4e-2, matched_share=0.999, hard_cap_abs=1.0, rms_factor=2.0
        ),
    },
    held_back=HeldBack(
        free=("tokens",),
        special=(
            SpecialValues(
                name="rows of zeros",
                contents={"x": Contents(scale=0.0), "residual": Contents(scale=0.0)},
            ),
            # One rank's NaN must appear in its own row on every rank and nowhere else.
            SpecialValues(name="a NaN in a row", contents={"x": Contents(plant="nan")}),
        ),
    ),
    chain={"x": "y"},
)

BASELINES = (
    Baseline(
        name="all_reduce",
        package="torch",
        title="torch.distributed.all_reduce (NCCL on GPUs), then torch's sum and F.rms_norm",
    ),
    Baseline(
        name="all_reduce_compiled",
        package="torch",
        title="torch.distributed.all_reduce (NCCL), then one kernel by torch.compile",
    ),
    Baseline(
        name="symmetric_memory",
        package="torch",
        title="torch's one-shot all-reduce in symmetric memory, then one kernel by torch.compile",
    ),
)


def flops(axes: Axes) -> int:
    """Operations of one rank's call: the sums over ranks and residual, and the norm."""
    return (axes["ranks"] + 4) * axes["tokens"] * axes["hidden"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one rank's memory: x, residual and weight read, both results written.

    Over the link come, besides, ranks - 1 times x or less.
    """
    numbers, item = axes["tokens"] * axes["hidden"], ITEM_BYTES[dtype]
    return (4 * numbers + axes["hidden"]) * item


def slots(axes: Axes) -> tuple[Slot, ...]:
    """One call before each MLP."""
    return (Slot(axes=axes, calls=axes["layers"]),)


# Llama-3-8B's and Llama-3-70B's MLP over two GPUs.
_8B = {"ranks": 2, "layers": 4, "hidden": 4096, "ffn": 14336 // 2}
_70B = {"ranks": 2, "layers": 2, "hidden": 8192, "ffn": 28672 // 2}


def _workload(name: str, model: Axes, *, tokens: int, weight: float) -> Workload:
    return Workload(name=name, axes={**model, "tokens": tokens}, weight=weight)


_DECODE = (
    _workload("8B, 8 tokens", _8B, tokens=8, weight=0.4),
    _workload("70B, 128 tokens", _70B, tokens=128, weight=0.3),
    _workload("8B, 512 tokens", _8B, tokens=512, weight=0.3),
)
_PROTOCOL = replace(protocols.H200_BY_TIME, replicates=4, max_replicates=5, round_ms=20.0)
_SMALL = {"ranks": 2, "tokens": 24, "layers": 2, "hidden": 64, "ffn": 96}

PRESETS = {
    "tiny": presets.tiny(
        title="24 rows of 64 numbers over two processes",
        baseline="all_reduce",
        candidate="torch_gather",
        workloads=(Workload(name="24x64", axes=_SMALL, weight=1.0),),
    ),
    "h100_x2": presets.h100(
        title="MLPs of Llama 3 over two H100, 8 to 512 tokens",
        baseline="symmetric_memory",
        candidate="cuda_push",
        target=1.2,
        workloads=_DECODE,
        protocol=_PROTOCOL,
    ),
}
