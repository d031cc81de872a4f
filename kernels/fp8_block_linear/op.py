"""A linear layer in block-scaled FP8 as plain data: axes, tensors, tolerances, cost. No torch."""

from __future__ import annotations

from collections.abc import Mapping

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
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

BLOCK = 128
SCALE_BYTES = 4


def _eight_bits(name: str, shape: tuple[str, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype="float8_e4m3fn")


def _scale(name: str, shape: tuple[str, ...], *fan_in: str) -> TensorSpec:
    """Scales with a root mean square of 1, so that a kernel without them is wrong."""
    return TensorSpec(
        name=name,
        shape=shape,
        dtype="float32",
        distribution="uniform",
        scale=3**0.5,
        fan_in=fan_in,
    )


DEFINITION = Definition(
    operator="fp8_block_linear",
    title="Linear layer in block-scaled FP8",
    summary=(
        "out = X W^T with X[b, i] = x[b, i] * x_scale[b, i // 128] and W[o, i] = weight[o, i] * "
        "scale[o // 128, i // 128]: FP8 (e4m3) operands, a float32 scale for 128 activations of a "
        "row and for a block of 128 by 128 weights, as DeepSeek-V3 stores them. Sums are in "
        "float32 at least every 128 inputs. Features are multiples of 128. x and x_scale may be "
        "strided along the batch."
    ),
    axes={
        "batch": "rows of x: tokens",
        "in_features": "numbers in a row of x",
        "out_features": "numbers in a row of the result",
        "in_blocks": "in_features / 128",
        "out_blocks": "out_features / 128",
        "hidden": "width of the hidden state",
        "ffn": "inner width of the MLP",
        "gate_up": "2 ffn",
        "hidden_blocks": "hidden / 128",
        "ffn_blocks": "ffn / 128",
        "gate_up_blocks": "gate_up / 128",
    },
    state=(
        _eight_bits("weight", ("out_features", "in_features")),
        _scale("scale", ("out_blocks", "in_blocks"), "in_features"),
    ),
    inputs=(
        _eight_bits("x", ("batch", "in_features")),
        _scale("x_scale", ("batch", "in_blocks")),
    ),
    outputs=(TensorSpec(name="out", shape=("batch", "out_features")),),
    program="deepseek_fp8_mlp",
    program_state=(
        TensorSpec(name="norm", shape=("hidden",), distribution="ones"),
        _eight_bits("w_gate_up", ("gate_up", "hidden")),
        _scale("s_gate_up", ("gate_up_blocks", "hidden_blocks"), "hidden"),
        _eight_bits("w_down", ("hidden", "ffn")),
        _scale("s_down", ("hidden_blocks", "ffn_blocks"), "ffn"),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")),),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")),),
    chain={"x": "y"},
    # A rounding to FP8 before each product is the Definition's; where one of its operands differs
    # by a 16-bit rounding, it may be a step of FP8 off.
    tolerances=tolerances(terms=18432, roundings=16),
    operator_tolerances=operator_tolerances(terms=18432, roundings=4),
    held_back=HeldBack(
        free=("batch",),
        strided=("batch",),
        special=(
            SpecialValues(name="scales of zero", contents={"x_scale": Contents(scale=0.0)}),
            SpecialValues(
                name="large scales", contents={"x_scale": Contents(scale=64.0)}, gain=64.0
            ),
            # One row's NaN must appear in its own row and nowhere else.
            SpecialValues(name="a NaN in a scale", contents={"x_scale": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="widened",
        package="torch",
        title="F.linear with the weights widened beforehand, the activations in every call",
    ),
    Baseline(
        name="scaled_mm",
        package="torch",
        title="torch's scaled_mm by blocks (cuBLASLt), on Hopper",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two."""
    return 2 * axes["batch"] * axes["in_features"] * axes["out_features"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: a byte a weight and activation, their scales, results."""
    weights = axes["in_features"] * axes["out_features"]
    scales = weights // BLOCK**2 + axes["batch"] * axes["in_features"] // BLOCK
    rows = axes["batch"] * (axes["in_features"] + axes["out_features"] * ITEM_BYTES[dtype])
    return weights + rows + scales * SCALE_BYTES


def slots(axes: Axes) -> tuple[Slot, ...]:
    """Gate and up together, and down."""
    shapes = ((axes["hidden"], axes["gate_up"]), (axes["ffn"], axes["hidden"]))
    return tuple(
        Slot(axes={**axes, **_linear(inside, outside)}, calls=1) for inside, outside in shapes
    )


def _linear(inside: int, outside: int) -> dict[str, int]:
    return {
        "in_features": inside,
        "out_features": outside,
        "in_blocks": inside // BLOCK,
        "out_blocks": outside // BLOCK,
    }


def _workload(model: Mapping[str, int], *, batch: int, weight: float) -> Workload:
    """The MLP of a layer; the operator alone is its joint gate and up projection."""
    hidden, ffn = model["hidden"], model["ffn"]
    axes = {
        "batch": batch,
        **_linear(hidden, 2 * ffn),
        **model,
        "gate_up": 2 * ffn,
        "hidden_blocks": hidden // BLOCK,
        "ffn_blocks": ffn // BLOCK,
        "gate_up_blocks": 2 * ffn // BLOCK,
    }
    return Workload(name=f"batch {batch}", axes=axes, weight=weight)


# A dense layer's MLP (DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, section 4.2).
_DEEPSEEK_V3 = {"hidden": 7168, "ffn": 18432}
_SMALL = {"hidden": 256, "ffn": 384}
_TITLE = "DeepSeek-V3's dense MLP in FP8, 1, 16 and 64 tokens"
_DECODE = (
    _workload(_DEEPSEEK_V3, batch=1, weight=0.3),
    _workload(_DEEPSEEK_V3, batch=16, weight=0.3),
    _workload(_DEEPSEEK_V3, batch=64, weight=0.4),
)

PRESETS = {
    "tiny": presets.tiny(
        title="Nine tokens of a small MLP",
        baseline="widened",
        candidate="torch_blocks",
        workloads=(_workload(_SMALL, batch=9, weight=1.0),),
    ),
    "h200": presets.h200(
        title=_TITLE,
        baseline="scaled_mm",
        candidate="triton_blocks",
        workloads=_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
    "h100": presets.h100(
        title=_TITLE,
        baseline="scaled_mm",
        candidate="triton_blocks",
        workloads=_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
}
