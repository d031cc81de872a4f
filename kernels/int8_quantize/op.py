"""Dynamic int8 quantisation as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from dataclasses import replace

from kernels import protocols
from kernels.definition import (
    Axes,
    Baseline,
    Contents,
    Definition,
    HeldBack,
    Preset,
    SpecialValues,
    TensorSpec,
    Tolerance,
    Workload,
)

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
SCALE_BYTES = 4

# Weights' size before their scale, and twice what brings a product back to 1: scales are drawn
# from 0 up.
WEIGHT_SIZE = 40.0
WEIGHT_SCALE = 2.0 / WEIGHT_SIZE


def _tolerance(max_rel: float) -> Tolerance:
    """Near to exact: the arithmetic is defined to the last bit, so all that is left is rounding.

    `max_rel` is for the Program's result, which is rounded once to the benchmark's dtype. The
    absolute bound is below one step of q, so q must be the very number; one element in a
    thousand may be a step off, where a quotient lies halfway between two.
    """
    return Tolerance(max_abs=1e-6, max_rel=max_rel, matched_share=0.999, hard_cap_abs=1.0)


DEFINITION = Definition(
    operator="int8_quantize",
    title="Dynamic int8 quantisation",
    summary=(
        "Every token's row by its own scale: scale = max(max |x|, 1e-10) / 127 and q = x / scale "
        "rounded half to even, both in float32. x is finite. The input may be strided along the "
        "tokens."
    ),
    axes={
        "tokens": "rows, each with a scale of its own",
        "hidden": "numbers in a row",
        "out_features": "columns of the product that follows",
        "layers": "products of the step",
    },
    state=(),
    inputs=(TensorSpec(name="x", shape=("tokens", "hidden")),),
    outputs=(
        TensorSpec(name="q", shape=("tokens", "hidden"), dtype="int8"),
        TensorSpec(name="scale", shape=("tokens",), dtype="float32"),
    ),
    program="int8_projection",
    program_state=(
        TensorSpec(
            name="weight", shape=("out_features", "hidden"), dtype="int8", scale=WEIGHT_SIZE
        ),
        TensorSpec(
            name="weight_scale",
            shape=("out_features",),
            dtype="float32",
            distribution="uniform",
            scale=WEIGHT_SCALE,
            fan_in=("hidden",),
        ),
    ),
    program_inputs=(TensorSpec(name="x", shape=("tokens", "hidden")),),
    program_outputs=(TensorSpec(name="y", shape=("tokens", "out_features")),),
    tolerances={
        "float32": _tolerance(2e-6),
        "float16": _tolerance(1e-3),
        "bfloat16": _tolerance(8e-3),
    },
    held_back=HeldBack(
        free=("tokens",),
        strided=("tokens",),
        special=(
            SpecialValues(name="rows of zeros", contents={"x": Contents(scale=0.0)}),
            SpecialValues(name="large numbers", contents={"x": Contents(scale=1e3)}),
            SpecialValues(name="small numbers", contents={"x": Contents(scale=1e-3)}),
        ),
    ),
)

BASELINES = (
    Baseline(name="eager", package="torch", title="the formula in torch, eager"),
    Baseline(name="compiled", package="torch", title="the formula under torch.compile"),
)


def flops(axes: Axes) -> int:
    """Operations of one call: a comparison, a division and a rounding for every number."""
    return 3 * axes["tokens"] * axes["hidden"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Every number read once, its int8 and its row's scale written once."""
    numbers = axes["tokens"] * axes["hidden"]
    return numbers * (ITEM_BYTES[dtype] + 1) + axes["tokens"] * SCALE_BYTES


def _workload(*, tokens: int, hidden: int, out_features: int, weight: float) -> Workload:
    axes = {"tokens": tokens, "hidden": hidden, "out_features": out_features, "layers": 1}
    return Workload(name=f"{tokens}x{hidden}", axes=axes, weight=weight)


PRESETS = {
    "tiny": Preset(
        title="Forty rows of 72 numbers",
        device="cpu",
        hardware=None,
        dtype="float32",
        launch="eager",
        baseline="eager",
        candidate="torch_quantize",
        target=2.0,
        confidence=0.95,
        workloads=(_workload(tokens=40, hidden=72, out_features=48, weight=1.0),),
        protocol=protocols.TINY,
    ),
    "cuda": Preset(
        title="Llama-3.2-1B's joint projection in int8, 8192 tokens",
        device="cuda",
        hardware=None,
        dtype="float16",
        launch="graph",
        baseline="compiled",
        candidate="triton_quantize",
        target=2.0,
        confidence=0.95,
        workloads=(_workload(tokens=8192, hidden=2048, out_features=3072, weight=1.0),),
        protocol=replace(protocols.CUDA, max_calls=32),
    ),
    "h200": Preset(
        title="Llama-3-8B's joint projection and down projection in int8",
        device="cuda",
        hardware="NVIDIA H200",
        dtype="bfloat16",
        launch="graph",
        baseline="compiled",
        candidate="triton_quantize",
        target=2.0,
        confidence=0.95,
        workloads=(
            _workload(tokens=16384, hidden=4096, out_features=6144, weight=0.5),
            _workload(tokens=8192, hidden=14336, out_features=4096, weight=0.5),
        ),
        protocol=replace(protocols.H200, max_calls=16),
    ),
}
