"""Dynamic int8 quantisation as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

import math
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
    Tolerance,
    Workload,
)

SCALE_BYTES = 4

# Standard deviation of the weights, and twice the scale that brings a product to 1: scales are
# drawn from 0 up.
WEIGHT_SIZE = 40.0
WEIGHT_SCALE = 2.0 / WEIGHT_SIZE


# In standard deviations, the largest number of a row of normal ones is rarely larger.
_MAX_SIGMAS = 5.0
_SIGMAS = 6.0
# One number in so many may differ by a step of q, where a quotient is halfway between two.
_A_STEP_OFF = 1000
_STEP = _MAX_SIGMAS / 127


def _tolerance(max_rel: float) -> Tolerance:
    """Nearly exact: the arithmetic is defined to the last bit, so only rounding may differ.

    A step of q moves a row of the Program's result by scale * weight * weight_scale. Of `hidden`
    numbers in a row one in a thousand may be a step off, so an element's error is

        step * sqrt(hidden / 1000) * (2 / sqrt(3)) / sqrt(hidden)

    as a standard deviation, where 2 / sqrt(3) / sqrt(hidden) is the size of a weight times its
    scale (drawn from 0 to WEIGHT_SCALE): the same at every length. The bound is six times that.
    `max_rel` covers the rounding of the result. Together they are less than one step of q even at
    127, so that 999 of 1000 elements of q must be exact.
    """
    weight = WEIGHT_SIZE * WEIGHT_SCALE / math.sqrt(3)
    max_abs = _SIGMAS * _STEP * weight / math.sqrt(_A_STEP_OFF)
    return Tolerance(
        max_abs=float(f"{max_abs:.1e}"),
        max_rel=max_rel,
        matched_share=1 - 1 / _A_STEP_OFF,
        hard_cap_abs=1.0,
    )


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
    chain={"x": "y"},
    tolerances={
        "float32": _tolerance(2e-6),
        # One and a half times the single rounding to 11 and to 8 bits.
        "float16": _tolerance(7.3e-4),
        "bfloat16": _tolerance(5.9e-3),
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
    """Minimum traffic of one call: numbers read once, int8 and scales written once."""
    numbers = axes["tokens"] * axes["hidden"]
    return numbers * (ITEM_BYTES[dtype] + 1) + axes["tokens"] * SCALE_BYTES


def _workload(*, tokens: int, hidden: int, out_features: int, weight: float) -> Workload:
    axes = {"tokens": tokens, "hidden": hidden, "out_features": out_features, "layers": 1}
    return Workload(name=f"{tokens}x{hidden}", axes=axes, weight=weight)


PRESETS = {
    "tiny": presets.tiny(
        title="Forty rows of 72 numbers",
        baseline="eager",
        candidate="torch_quantize",
        workloads=(_workload(tokens=40, hidden=72, out_features=48, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Llama-3.2-1B's joint projection in int8, 8192 tokens",
        baseline="compiled",
        candidate="triton_quantize",
        workloads=(_workload(tokens=8192, hidden=2048, out_features=3072, weight=1.0),),
        protocol=replace(protocols.CUDA, max_calls=32),
    ),
    "h200": presets.h200(
        title="Llama-3-8B's joint projection and down projection in int8",
        baseline="compiled",
        candidate="triton_quantize",
        workloads=(
            _workload(tokens=16384, hidden=4096, out_features=6144, weight=0.5),
            _workload(tokens=8192, hidden=14336, out_features=4096, weight=0.5),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
