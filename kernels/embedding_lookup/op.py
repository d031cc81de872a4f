"""Embedding lookup as plain data: axes, tensors, tolerances, cost. No torch here."""

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

ID_BYTES = 8

# Tokens of Llama 3's vocabulary.
LLAMA_VOCAB = 128_256

TABLE = TensorSpec(name="table", shape=("vocab", "hidden"))
IDS = TensorSpec(
    name="ids", shape=("batch", "seq_len"), dtype="int64", distribution="uniform", below="vocab"
)

DEFINITION = Definition(
    operator="embedding_lookup",
    title="Embedding lookup",
    summary=(
        "out[b, s] = table[ids[b, s]]: one row of the table for every token, bit for bit. Ids "
        "are below vocab. The ids may be strided along the batch."
    ),
    axes={
        "batch": "documents",
        "seq_len": "tokens of a document",
        "vocab": "rows of the table",
        **llama.AXES,
    },
    state=(TABLE,),
    inputs=(IDS,),
    outputs=(TensorSpec(name="out", shape=("batch", "seq_len", "hidden")),),
    program="llama_first_projection",
    program_state=(
        TABLE,
        TensorSpec(name="norm", shape=("hidden",), distribution="ones"),
        TensorSpec(name="w_qkv", shape=("qkv_heads", "head_dim", "hidden"), fan_in=("hidden",)),
    ),
    program_inputs=(IDS,),
    program_outputs=(TensorSpec(name="qkv", shape=("batch", "seq_len", "qkv_heads", "head_dim")),),
    chain={"ids": "qkv"},
    # The projection sums over the hidden state; norm and projection store their result.
    tolerances=tolerances(terms=4096, roundings=2),
    operator_tolerances=operator_tolerances(terms=4096, roundings=2),
    held_back=HeldBack(
        free=("batch", "seq_len"),
        strided=("batch",),
        special=(
            SpecialValues(name="a table of zeros", contents={"table": Contents(scale=0.0)}),
            SpecialValues(name="a NaN in the table", contents={"table": Contents(plant="nan")}),
            SpecialValues(name="an infinity in it", contents={"table": Contents(plant="inf")}),
        ),
    ),
)

BASELINES = (
    Baseline(name="torch_embedding", package="torch", title="torch.nn.functional.embedding"),
    Baseline(
        name="index_select", package="torch", title="torch.index_select, written into the output"
    ),
    Baseline(name="compiled", package="torch", title="F.embedding under torch.compile"),
)


def flops(axes: Axes) -> int:
    """Zero: rows are copied."""
    return 0


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: ids, each used row of the table, and the output."""
    tokens = axes["batch"] * axes["seq_len"]
    rows = tokens + min(tokens, axes["vocab"])
    return rows * axes["hidden"] * ITEM_BYTES[dtype] + tokens * ID_BYTES


def _workload(
    model: Mapping[str, int], *, vocab: int, batch: int, seq_len: int, weight: float
) -> Workload:
    axes = llama.sized(model, layers=1, vocab=vocab, batch=batch, seq_len=seq_len)
    return Workload(name=f"{batch}x{seq_len}", axes=axes, weight=weight)


_SMALL = {"heads": 2, "kv_heads": 1, "head_dim": 8, "hidden": 40, "ffn": 64}

PRESETS = {
    "tiny": presets.tiny(
        title="Three documents of 16 tokens over a vocabulary of 100",
        baseline="index_select",
        candidate="torch_gather",
        workloads=(_workload(_SMALL, vocab=100, batch=3, seq_len=16, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Llama-3.2-1B's table and first projection, 4096 tokens",
        baseline="index_select",
        candidate="triton_lookup",
        workloads=(
            _workload(llama.LLAMA_1B, vocab=LLAMA_VOCAB, batch=1, seq_len=4096, weight=1.0),
        ),
        protocol=replace(protocols.CUDA, max_calls=16),
    ),
    "h200": presets.h200(
        title="Llama-3-8B's table and first projection, 8192 and 32768 tokens",
        baseline="index_select",
        candidate="triton_lookup",
        workloads=(
            _workload(llama.LLAMA_8B, vocab=LLAMA_VOCAB, batch=1, seq_len=8192, weight=0.5),
            _workload(llama.LLAMA_8B, vocab=LLAMA_VOCAB, batch=4, seq_len=8192, weight=0.5),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
