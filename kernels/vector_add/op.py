"""The sum of two vectors as plain data: axes, tensors, tolerances, cost. No torch here."""

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
    SpecialValues,
    TensorSpec,
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

VECTOR = ("length",)

DEFINITION = Definition(
    operator="vector_add",
    title="Vector addition",
    summary="out[i] = x[i] + y[i], rounded once to the vectors' dtype.",
    axes={
        "length": "numbers in a vector",
        "layers": "micro-batches that are added, one call each",
    },
    state=(),
    inputs=(TensorSpec(name="x", shape=VECTOR), TensorSpec(name="y", shape=VECTOR)),
    outputs=(TensorSpec(name="out", shape=VECTOR),),
    program="gradient_accumulation",
    program_state=(TensorSpec(name="earlier", shape=("layers", *VECTOR)),),
    program_inputs=(TensorSpec(name="gradient", shape=VECTOR),),
    program_outputs=(TensorSpec(name="total", shape=VECTOR),),
    chain={"gradient": "total"},
    # Every micro-batch stores its sum once, and the sum of four is about twice as large as one.
    tolerances=tolerances(terms=1, roundings=8),
    operator_tolerances=operator_tolerances(terms=1, roundings=8),
    held_back=HeldBack(
        free=("length",),
        special=(
            SpecialValues(name="a NaN", contents={"x": Contents(plant="nan")}),
            SpecialValues(name="an infinity", contents={"y": Contents(plant="inf")}),
            SpecialValues(
                name="infinities that may meet",
                contents={"x": Contents(plant="inf"), "y": Contents(plant="-inf")},
            ),
        ),
    ),
)

BASELINES = (
    Baseline(name="torch_add", package="torch", title="torch.add into the output"),
    Baseline(name="compiled", package="torch", title="x + y under torch.compile"),
)


def flops(axes: Axes) -> int:
    """Additions of one operator call."""
    return axes["length"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: both vectors read once, their sum written once."""
    return 3 * axes["length"] * ITEM_BYTES[dtype]


def _workload(length: int, *, layers: int, weight: float) -> Workload:
    return Workload(name=f"{length}", axes={"length": length, "layers": layers}, weight=weight)


PRESETS = {
    "tiny": presets.tiny(
        title="Two micro-batches of ten thousand numbers",
        baseline="torch_add",
        candidate="torch_plain",
        workloads=(_workload(10_000, layers=2, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Four micro-batches, the gradient of one 4096 x 4096 weight",
        baseline="torch_add",
        candidate="triton_add",
        workloads=(_workload(1 << 24, layers=4, weight=1.0),),
        protocol=replace(protocols.CUDA, max_calls=16),
    ),
    "h200": presets.h200(
        title="Four micro-batches, the gradients of Llama-3-8B's smaller and larger weights",
        baseline="torch_add",
        candidate="triton_add",
        workloads=(
            _workload(4096 * 4096, layers=4, weight=0.5),
            _workload(14336 * 4096, layers=4, weight=0.5),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
