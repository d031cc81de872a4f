"""Residual sum, RMSNorm and FP8 quantisation as plain data: axes, tensors, cost. No torch here."""

from __future__ import annotations

import math
from dataclasses import replace

from kernels import llama, presets, protocols
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

SCALE_BYTES = 4
# Mean square of a number drawn evenly from 0 to 2, as norm weights and scales are.
_UNIFORM_SQUARE = 4 / 3
# FP8 with three bits of mantissa: a step is 1/16 to 1/8 of a number, 0.09 of it in the root mean
# square; the largest, below 448, is 32.
_STEP = 0.09
_LARGEST_STEP = 32.0
_SIGMAS = 6.0
# One number in so many may be a step of q off, where a quotient is halfway between two.
_A_STEP_OFF = 1000
# In 16 bits the second norm's input differs from the reference's wherever a sum of products is
# rounded differently, so more numbers of its q are a step off: in bfloat16 one in 200 to 400. In
# float32 that takes a step in the first q, which one row of 80 numbers in 2,500 has: it moves the
# whole row's MLP, and in the second q one number in 6 to 40.
_IN_FLOAT32, _IN_FLOAT16, _IN_BFLOAT16 = 20, 300, 50


def _tolerance(max_rel: float, a_step_off: int, rms_factor: float | None = None) -> Tolerance:
    """The Program's: a row of its product may come from a few numbers that are a step of q off.

    If one in `a_step_off` of the `hidden` numbers of a row is a step off, an element of the product
    differs, as a standard deviation, by

        sqrt(hidden / a_step_off) * step * norm weight * scale / sqrt(hidden)

    where weights and scales have the root mean square sqrt(4 / 3): the same at every length. The
    bound is six times that. The cap is one step of the largest q, as surveys compare the operator's
    outputs by this tolerance, too; larger errors of a few elements show in the RMS error.
    """
    max_abs = _SIGMAS * _STEP * _UNIFORM_SQUARE / math.sqrt(a_step_off)
    return Tolerance(
        max_abs=float(f"{max_abs:.1e}"),
        max_rel=max_rel,
        matched_share=1 - 1 / _A_STEP_OFF,
        hard_cap_abs=_LARGEST_STEP + 1,
        rms_factor=rms_factor,
    )


# The operator alone is exact: 999 of 1000 elements of q, subnormal ones too, all of the sum, and
# the scale to the order of a float32 sum. The others are one step off at most.
_EXACT = Tolerance(
    max_abs=1e-3,
    max_rel=1e-5,
    matched_share=1 - 1 / _A_STEP_OFF,
    hard_cap_abs=_LARGEST_STEP + 1,
)


def _weight(name: str) -> TensorSpec:
    """A norm's weights: not 1, so that a kernel without them is wrong."""
    return TensorSpec(name=name, shape=("hidden",), distribution="uniform", scale=2.0)


def _eight_bits(name: str, shape: tuple[str | int, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype="float8_e4m3fn")


def _scale(name: str, shape: tuple[str | int, ...]) -> TensorSpec:
    return TensorSpec(
        name=name,
        shape=shape,
        dtype="float32",
        distribution="uniform",
        scale=2.0,
        fan_in=("hidden",),
    )


_ROWS = ("tokens", "hidden")

DEFINITION = Definition(
    operator="residual_norm_quantize",
    title="Residual sum, RMSNorm and FP8 quantisation",
    summary=(
        "sum = x + residual, rounded to its dtype; n = sum / sqrt(mean(sum^2) + 1e-5) * weight; "
        "scale = max(max |n|, 1e-10) / 448; q = n / scale in FP8 (e4m3, half to even). From sum to "
        "q in float32 without further rounding. A NaN makes its token's row NaN. x and residual "
        "may be strided along the tokens."
    ),
    axes={
        "tokens": "rows, each with a scale of its own",
        "heads": llama.AXES["heads"],
        "kv_heads": llama.AXES["kv_heads"],
        "qkv_heads": llama.AXES["qkv_heads"],
        "head_dim": llama.AXES["head_dim"],
        "hidden": llama.AXES["hidden"],
        "ffn": llama.AXES["ffn"],
    },
    state=(_weight("weight"),),
    inputs=(
        TensorSpec(name="x", shape=_ROWS),
        TensorSpec(name="residual", shape=_ROWS),
    ),
    outputs=(
        TensorSpec(name="q", shape=_ROWS, dtype="float8_e4m3fn"),
        TensorSpec(name="scale", shape=("tokens",), dtype="float32"),
        TensorSpec(name="sum", shape=_ROWS),
    ),
    program="llama_fp8_between_attentions",
    program_state=(
        _weight("norm_mlp"),
        _eight_bits("w_gate_up", (2, "ffn", "hidden")),
        _scale("s_gate_up", (2, "ffn")),
        TensorSpec(name="w_down", shape=("hidden", "ffn"), fan_in=("ffn",)),
        _weight("norm_attention"),
        _eight_bits("w_qkv", ("qkv_heads", "head_dim", "hidden")),
        _scale("s_qkv", ("qkv_heads", "head_dim")),
    ),
    program_inputs=(
        TensorSpec(name="x", shape=_ROWS),
        TensorSpec(name="residual", shape=_ROWS),
    ),
    program_outputs=(
        TensorSpec(name="y", shape=("tokens", "qkv_heads", "head_dim")),
        TensorSpec(name="stream", shape=_ROWS),
    ),
    chain={"x": "y", "residual": "stream"},
    tolerances={
        "float32": _tolerance(2e-6, _IN_FLOAT32),
        # One and a half times the single rounding to 11 and to 8 bits.
        "float16": _tolerance(7.3e-4, _IN_FLOAT16),
        "bfloat16": _tolerance(5.9e-3, _IN_BFLOAT16, rms_factor=2.0),
    },
    operator_tolerances=dict.fromkeys(("float32", "float16", "bfloat16"), _EXACT),
    held_back=HeldBack(
        free=("tokens",),
        strided=("tokens",),
        special=(
            SpecialValues(
                name="rows of zeros",
                contents={"x": Contents(scale=0.0), "residual": Contents(scale=0.0)},
            ),
            SpecialValues(name="a large residual", contents={"residual": Contents(scale=1e2)}),
            # One row's NaN must appear in its own row and nowhere else.
            SpecialValues(name="a NaN in a row", contents={"x": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(name="eager", package="torch", title="sum, F.rms_norm and the formula, eager"),
    Baseline(name="compiled", package="torch", title="the same under torch.compile"),
    Baseline(
        name="compiled_tuned",
        package="torch",
        title="the same under torch.compile(mode='max-autotune-no-cudagraphs')",
    ),
)


def flops(axes: Axes) -> int:
    """Operations of one call: a sum, a square and its sum, two products, a maximum, a quotient."""
    return 7 * axes["tokens"] * axes["hidden"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: both inputs read, the sum, FP8 and scales written, once."""
    numbers, item = axes["tokens"] * axes["hidden"], ITEM_BYTES[dtype]
    return numbers * (3 * item + 1) + axes["tokens"] * SCALE_BYTES + axes["hidden"] * item


def slots(axes: Axes) -> tuple[Slot, ...]:
    """Two calls a step: before the MLP and before the next attention."""
    return (Slot(axes=axes, calls=2),)


def _workload(name: str, *, tokens: int, weight: float) -> Workload:
    axes = llama.sized(llama.LLAMA_8B, layers=1, tokens=tokens)
    del axes["layers"]
    return Workload(name=name, axes=axes, weight=weight)


_SMALL = {
    "tokens": 40,
    "heads": 4,
    "kv_heads": 2,
    "qkv_heads": 8,
    "head_dim": 16,
    "hidden": 80,
    "ffn": 112,
}
_PREFILL_AND_DECODE = (
    _workload("prefill of 16384 tokens", tokens=16384, weight=0.4),
    _workload("prefill of 4096 tokens", tokens=4096, weight=0.3),
    _workload("decode of 128 sequences", tokens=128, weight=0.3),
)

PRESETS = {
    "tiny": presets.tiny(
        title="Forty rows of 80 numbers",
        baseline="eager",
        candidate="torch_in_place",
        workloads=(Workload(name="40x80", axes=_SMALL, weight=1.0),),
    ),
    # FP8 products need compute capability 8.9, so bfloat16 is there.
    "cuda": presets.cuda(
        title="Llama-3-8B in FP8 from attention to attention, 2048 tokens",
        dtype="bfloat16",
        baseline="compiled",
        candidate="triton_rows",
        workloads=(_workload("prefill of 2048 tokens", tokens=2048, weight=1.0),),
        protocol=replace(protocols.CUDA, max_calls=32),
    ),
    "h200": presets.h200(
        title="Llama-3-8B in FP8 from attention to attention, prefill and decode",
        baseline="compiled",
        candidate="triton_rows",
        workloads=_PREFILL_AND_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
    "h100": presets.h100(
        title="Llama-3-8B in FP8 from attention to attention, prefill and decode",
        baseline="compiled",
        candidate="triton_rows",
        workloads=_PREFILL_AND_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
}
