"""A linear layer with int8 weights as plain data: axes, tensors, tolerances, cost. No torch."""

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

# Standard deviation of the int8 weights: three fill the range, as with quantised weights.
WEIGHT_SIZE = 40.0
# Scales are drawn from 0 up, so twice the scale that brings a product to 1.
SCALE_SIZE = 2.0 / WEIGHT_SIZE
# Standard deviation of the keys: a few of them dominate a softmax, as in trained models, so that
# errors of the projections before it show in the step.
KEY_SCALE = 2.0

# The deepest Program of the presets, and the results that one of its layers stores in 16 bits:
# norm, projection, rotation (twice), attention, its projection, sum; norm, gate and up, SiLU,
# product, down projection, sum; and 16-bit weights are rounded once more than int8 ones.
LAYERS = 4
ROUNDINGS_A_LAYER = 14

CACHE = ("layers", "batch", "kv_heads", "context_len", "head_dim")


def _scale(name: str, shape: tuple[str | int, ...], fan_in: tuple[str, ...]) -> TensorSpec:
    return TensorSpec(
        name=name, shape=shape, distribution="uniform", scale=SCALE_SIZE, fan_in=fan_in
    )


def _weight(name: str, shape: tuple[str | int, ...]) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype="int8", scale=WEIGHT_SIZE)


DEFINITION = Definition(
    operator="int8_linear",
    title="Linear layer with int8 weights",
    summary=(
        "out = (x weight^T) * scale: weights are int8 with one scale for each output feature "
        "(per channel, symmetric), activations and results are not quantised. x may be strided "
        "along the batch; in_features is a multiple of 8."
    ),
    axes={
        "batch": "rows of x: sequences decoded together",
        "in_features": "numbers in a row of x",
        "out_features": "numbers in a row of the result",
        "context_len": "earlier tokens of each sequence",
        **llama.AXES,
    },
    state=(
        _weight("weight", ("out_features", "in_features")),
        _scale("scale", ("out_features",), ("in_features",)),
    ),
    inputs=(TensorSpec(name="x", shape=("batch", "in_features")),),
    outputs=(TensorSpec(name="out", shape=("batch", "out_features")),),
    program="llama_int8_decode_step",
    program_state=(
        TensorSpec(name="norm_attention", shape=("layers", "hidden"), distribution="ones"),
        _weight("w_qkv", ("layers", "qkv_heads", "head_dim", "hidden")),
        _scale("s_qkv", ("layers", "qkv_heads", "head_dim"), ("hidden",)),
        _weight("w_out", ("layers", "hidden", "heads", "head_dim")),
        _scale("s_out", ("layers", "hidden"), ("heads", "head_dim")),
        TensorSpec(name="norm_mlp", shape=("layers", "hidden"), distribution="ones"),
        _weight("w_gate_up", ("layers", 2, "ffn", "hidden")),
        _scale("s_gate_up", ("layers", 2, "ffn"), ("hidden",)),
        _weight("w_down", ("layers", "hidden", "ffn")),
        _scale("s_down", ("layers", "hidden"), ("ffn",)),
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
        name="unfused",
        package="torch",
        title="the weights dequantised in every call, then F.linear",
    ),
    Baseline(
        name="compiled",
        package="torch",
        title="F.linear of the cast weights, then the scales, under torch.compile",
    ),
    Baseline(name="int8pack", package="torch", title="torch._weight_int8pack_mm"),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two."""
    return 2 * axes["batch"] * axes["in_features"] * axes["out_features"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: weights at a byte each, scales, activations, results."""
    weights = axes["in_features"] * axes["out_features"]
    rows = axes["batch"] * (axes["in_features"] + axes["out_features"])
    return weights + (axes["out_features"] + rows) * ITEM_BYTES[dtype]


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
        Slot(axes={**axes, "in_features": inside, "out_features": outside}, calls=axes["layers"])
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
    )
    return Workload(name=f"batch {batch}", axes=axes, weight=weight)


_SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 16, "hidden": 64, "ffn": 152}

PRESETS = {
    "tiny": presets.tiny(
        title="One small layer, seven sequences",
        baseline="cublas",
        candidate="torch_scaled",
        workloads=(_workload(_SMALL, layers=1, batch=7, context_len=16, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Four Llama-3.2-1B layers, 1 and 16 sequences",
        baseline="cublas",
        candidate="triton_fused",
        workloads=(
            _workload(llama.LLAMA_1B, layers=LAYERS, batch=1, context_len=256, weight=0.5),
            _workload(llama.LLAMA_1B, layers=LAYERS, batch=16, context_len=256, weight=0.5),
        ),
    ),
    "h200": presets.h200(
        title="Four Llama-3-8B layers, 1, 16 and 64 sequences",
        baseline="cublas",
        candidate="cuda_by_rows",
        workloads=(
            _workload(llama.LLAMA_8B, layers=LAYERS, batch=1, context_len=256, weight=0.3),
            _workload(llama.LLAMA_8B, layers=LAYERS, batch=16, context_len=256, weight=0.4),
            _workload(llama.LLAMA_8B, layers=LAYERS, batch=64, context_len=256, weight=0.3),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
