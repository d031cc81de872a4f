"""Rotary position embedding as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernels import llama, presets, protocols
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

TABLE_BYTES = 4

TABLE = ("seq_len", "half_dim")
QUERY = ("batch", "seq_len", "heads", "head_dim")
KEY = ("batch", "seq_len", "kv_heads", "head_dim")

# Standard deviation of cosines and sines: their shares of a result add up to about 1.
TABLE_SCALE = 0.7
# Standard deviation of queries and keys. At 1 a softmax over flat scores is nearly the same for
# every rotation, and a step without the embedding would pass.
QKV_SCALE = 1.4

DEFINITION = Definition(
    operator="rotary_embedding",
    title="Rotary position embedding",
    summary=(
        "Queries and keys turned by their position, in the half-split layout of Llama's "
        "checkpoints: of each head, first' = first * cos - second * sin and second' = second * "
        "cos + first * sin. The tables hold one row a position, in float32; each result is "
        "rounded once. The inputs may be strided along the sequence, as slices of one projection."
    ),
    axes={
        "batch": "documents",
        "seq_len": "tokens of a document",
        "half_dim": "half the width of a head",
        **llama.AXES,
    },
    state=(
        TensorSpec(name="cos", shape=TABLE, dtype="float32", scale=TABLE_SCALE),
        TensorSpec(name="sin", shape=TABLE, dtype="float32", scale=TABLE_SCALE),
    ),
    inputs=(TensorSpec(name="q", shape=QUERY), TensorSpec(name="k", shape=KEY)),
    outputs=(TensorSpec(name="q_turned", shape=QUERY), TensorSpec(name="k_turned", shape=KEY)),
    program="llama_attention_block",
    program_state=llama.attention_weights(qkv_scale=QKV_SCALE),
    program_inputs=(TensorSpec(name="x", shape=("batch", "seq_len", "hidden")),),
    program_outputs=(TensorSpec(name="y", shape=("batch", "seq_len", "hidden")),),
    chain={"x": "y"},
    # The projections sum over the hidden state; norm, projection, rotation and attention each
    # store their result.
    tolerances=tolerances(terms=4096, roundings=4),
    operator_tolerances=operator_tolerances(terms=4096, roundings=4),
    held_back=HeldBack(
        free=("batch", "seq_len"),
        strided=("seq_len",),
        special=(
            SpecialValues(name="queries of zeros", contents={"q": Contents(scale=0.0)}),
            # One NaN must appear in its own pair and nowhere else.
            SpecialValues(name="a NaN in a query", contents={"q": Contents(plant="nan")}),
            SpecialValues(name="an infinity in a key", contents={"k": Contents(plant="inf")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="rotate_half",
        package="torch",
        title="q * cos + rotate_half(q) * sin, eager, as in Hugging Face's Llama",
    ),
    Baseline(name="compiled", package="torch", title="the same under torch.compile"),
    Baseline(
        name="flashinfer",
        package="flashinfer-python",
        title="FlashInfer's rotary embedding with tables, written into the outputs",
    ),
    Baseline(
        name="liger",
        package="liger-kernel",
        title="Liger's rotary embedding, in place on a copy of its inputs",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: three operations an output."""
    return 3 * _rotated(axes)


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: queries and keys read and written, both tables read."""
    tables = 2 * axes["seq_len"] * axes["half_dim"] * TABLE_BYTES
    return 2 * _rotated(axes) * ITEM_BYTES[dtype] + tables


def _rotated(axes: Axes) -> int:
    """Numbers that one call rotates."""
    tokens = axes["batch"] * axes["seq_len"]
    return tokens * (axes["heads"] + axes["kv_heads"]) * axes["head_dim"]


def _workload(model: Mapping[str, int], *, batch: int, seq_len: int, weight: float) -> Workload:
    axes = llama.sized(
        model, layers=1, batch=batch, seq_len=seq_len, half_dim=model["head_dim"] // 2
    )
    return Workload(name=f"{batch}x{seq_len}", axes=axes, weight=weight)


_SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 16, "hidden": 64, "ffn": 96}

PRESETS = {
    "tiny": presets.tiny(
        title="Two documents of 24 tokens",
        baseline="rotate_half",
        candidate="torch_rotate",
        workloads=(_workload(_SMALL, batch=2, seq_len=24, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="A Llama-3.2-1B attention block over two documents of 4096 tokens",
        baseline="compiled",
        candidate="triton_rotate",
        workloads=(_workload(llama.LLAMA_1B, batch=2, seq_len=4096, weight=1.0),),
        protocol=replace(protocols.CUDA, max_calls=16),
    ),
    "h200": presets.h200(
        title="A Llama-3-8B attention block over 8192 tokens, in one document and in four",
        baseline="compiled",
        candidate="triton_rotate",
        workloads=(
            _workload(llama.LLAMA_8B, batch=1, seq_len=8192, weight=0.5),
            _workload(llama.LLAMA_8B, batch=4, seq_len=2048, weight=0.5),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
