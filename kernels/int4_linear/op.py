"""A linear layer with 4-bit weights as plain data: axes, tensors, tolerances, cost. No torch."""

from __future__ import annotations

from collections.abc import Mapping

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
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

GROUP = 128
# Weights are 0 to 15, less 8: their root mean square is 4.6, their mean -0.5. Scales have both
# signs: with positive ones the mean would amplify the mean of the activations in every layer.
WEIGHT_SIZE = 4.6
SCALE_SIZE = 1.0 / WEIGHT_SIZE
# Standard deviation of the keys: a few of them dominate a softmax, as in trained models, so that
# errors of the projections before it show in the step.
KEY_SCALE = 2.0

# The deepest Program of the presets, and the results that one of its layers stores in 16 bits:
# norm, projection, rotation (twice), attention, its projection, sum; norm, gate and up, SiLU,
# product, down projection, sum; and weights that are dequantised beforehand are rounded, too.
LAYERS = 4
ROUNDINGS_A_LAYER = 14

CACHE = ("layers", "batch", "kv_heads", "context_len", "head_dim")


def _scale(name: str, shape: tuple[str | int, ...], fan_in: tuple[str, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, scale=SCALE_SIZE, fan_in=fan_in)


def _weight(name: str, shape: tuple[str | int, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype="uint8", distribution="uniform", scale=16.0)


DEFINITION = Definition(
    operator="int4_linear",
    title="Linear layer with 4-bit weights",
    summary=(
        "out = x W^T with W[o, i] = (weight[o, i] - 8) * scale[o, i // 128]: whole weights from 0 "
        "to 15, given one a byte and packed by every Solution beforehand, one scale for each "
        "output feature and group of 128 inputs (symmetric, as GPTQ stores it). Activations and "
        "results are not quantised. x may be strided along the batch; in_features is a multiple "
        "of 128."
    ),
    axes={
        "batch": "rows of x: sequences decoded together",
        "in_features": "numbers in a row of x",
        "out_features": "numbers in a row of the result",
        "groups": "in_features / 128",
        "context_len": "earlier tokens of each sequence",
        "hidden_groups": "hidden / 128",
        "heads_groups": "heads * head_dim / 128",
        "ffn_groups": "ffn / 128",
        **llama.AXES,
    },
    state=(
        _weight("weight", ("out_features", "in_features")),
        _scale("scale", ("out_features", "groups"), ("in_features",)),
    ),
    inputs=(TensorSpec(name="x", shape=("batch", "in_features")),),
    outputs=(TensorSpec(name="out", shape=("batch", "out_features")),),
    program="llama_int4_decode_step",
    program_state=(
        TensorSpec(name="norm_attention", shape=("layers", "hidden"), distribution="ones"),
        _weight("w_qkv", ("layers", "qkv_heads", "head_dim", "hidden")),
        _scale("s_qkv", ("layers", "qkv_heads", "head_dim", "hidden_groups"), ("hidden",)),
        _weight("w_out", ("layers", "hidden", "heads", "head_dim")),
        _scale("s_out", ("layers", "hidden", "heads_groups"), ("heads", "head_dim")),
        TensorSpec(name="norm_mlp", shape=("layers", "hidden"), distribution="ones"),
        _weight("w_gate_up", ("layers", 2, "ffn", "hidden")),
        _scale("s_gate_up", ("layers", 2, "ffn", "hidden_groups"), ("hidden",)),
        _weight("w_down", ("layers", "hidden", "ffn")),
        _scale("s_down", ("layers", "hidden", "ffn_groups"), ("ffn",)),
        TensorSpec(name="cache_k", shape=CACHE, scale=KEY_SCALE),
        TensorSpec(name="cache_v", shape=CACHE),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")),),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")),),
    chain={"x": "y"},
    # The down projection sums over the MLP. A layer's rounding is carried into all later layers.
    tolerances=tolerances(terms=14336, roundings=LAYERS * ROUNDINGS_A_LAYER),
    operator_tolerances=operator_tolerances(terms=14336, roundings=4),
    held_back=HeldBack(
        free=("batch",),
        strided=("batch",),
        special=(
            SpecialValues(name="rows of zeros", contents={"x": Contents(scale=0.0)}),
            SpecialValues(name="large activations", contents={"x": Contents(scale=8.0)}, gain=8.0),
            # One row's NaN must appear in its own row and nowhere else.
            SpecialValues(name="a NaN in a row", contents={"x": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="cublas",
        package="torch",
        title="F.linear with the weights dequantised beforehand to the activations' dtype",
    ),
    Baseline(
        name="int4pack", package="torch", title="torch._weight_int4pack_mm (tinygemm), bfloat16"
    ),
    Baseline(
        name="compiled",
        package="torch",
        title="packed weights widened and scaled, then F.linear, under torch.compile",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two."""
    return 2 * axes["batch"] * axes["in_features"] * axes["out_features"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: half a byte a weight, scales, activations, results."""
    weights = axes["in_features"] * axes["out_features"]
    rows = axes["batch"] * (axes["in_features"] + axes["out_features"])
    return weights // 2 + (weights // GROUP + rows) * ITEM_BYTES[dtype]


def slots(axes: Axes) -> tuple[Slot, ...]:
    """The four linear layers of a layer: each has other features."""
    heads = axes["heads"] * axes["head_dim"]
    shapes = (
        (axes["hidden"], axes["qkv_heads"] * axes["head_dim"]),
        (heads, axes["hidden"]),
        (axes["hidden"], 2 * axes["ffn"]),
        (axes["ffn"], axes["hidden"]),
    )
    return tuple(
        Slot(
            axes={
                **axes,
                "in_features": inside,
                "out_features": outside,
                "groups": inside // GROUP,
            },
            calls=axes["layers"],
        )
        for inside, outside in shapes
    )


def _workload(
    model: Mapping[str, int], *, layers: int, batch: int, context_len: int, weight: float
) -> Workload:
    """A decode step; the operator alone is the up projection of its MLP."""
    axes = llama.sized(
        model,
        layers=layers,
        batch=batch,
        context_len=context_len,
        in_features=model["hidden"],
        out_features=model["ffn"],
        groups=model["hidden"] // GROUP,
        hidden_groups=model["hidden"] // GROUP,
        heads_groups=model["heads"] * model["head_dim"] // GROUP,
        ffn_groups=model["ffn"] // GROUP,
    )
    return Workload(name=f"batch {batch}", axes=axes, weight=weight)


_SMALL = {"heads": 8, "kv_heads": 2, "head_dim": 32, "hidden": 256, "ffn": 384}
_LLAMA_8B = tuple(
    _workload(llama.LLAMA_8B, layers=LAYERS, batch=batch, context_len=256, weight=weight)
    for batch, weight in ((1, 0.3), (16, 0.4), (64, 0.3))
)

PRESETS = {
    "tiny": presets.tiny(
        title="One small layer, seven sequences",
        baseline="cublas",
        candidate="torch_groups",
        workloads=(_workload(_SMALL, layers=1, batch=7, context_len=16, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Four Llama-3.2-1B layers, 1 and 16 sequences",
        baseline="cublas",
        candidate="triton_split",
        workloads=(
            _workload(llama.LLAMA_1B, layers=LAYERS, batch=1, context_len=256, weight=0.5),
            _workload(llama.LLAMA_1B, layers=LAYERS, batch=16, context_len=256, weight=0.5),
        ),
    ),
    "h200": presets.h200(
        title="Four Llama-3-8B layers, 1, 16 and 64 sequences",
        baseline="cublas",
        candidate="triton_split",
        workloads=_LLAMA_8B,
        protocol=protocols.H200_BY_TIME,
    ),
    "h100": presets.h100(
        title="Four Llama-3-8B layers, 1, 16 and 64 sequences",
        baseline="cublas",
        candidate="triton_split",
        workloads=_LLAMA_8B,
        protocol=protocols.H200_BY_TIME,
    ),
}
