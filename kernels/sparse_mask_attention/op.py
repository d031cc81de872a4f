"""Attention under a block mask as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from dataclasses import replace

from kernels import attention, llama, presets, protocols
from kernels.definition import (
    Axes,
    Baseline,
    Definition,
    HeldBack,
    TensorSpec,
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

# Standard deviation of queries and keys. At 1 a softmax over thousands of keys is nearly zero
# everywhere, and a step without its attention would pass.
QKV_SCALE = 1.5

DOCUMENT = ("batch", "blocks", "block")
KEEP = TensorSpec(name="keep", shape=("blocks", "blocks"), dtype="float32", distribution="uniform")

DEFINITION = Definition(
    operator="sparse_mask_attention",
    title="Attention under a block mask",
    summary=(
        "Causal self-attention of a document of blocks * block tokens, of which each block of "
        "queries sees some blocks of keys. Block i sees block j <= i when i - j < window_blocks "
        "(what is near), when j < global_blocks (the beginning), or when 100 * keep[i, j] < "
        "kept_percent (what was chosen); within its own block a query sees the keys up to "
        "itself. The pattern is BigBird's (Zaheer et al., 2020) with the random blocks given as "
        "data. Grouped queries: head h reads key/value head h // (heads / kv_heads). Scores are "
        "scaled by 1/sqrt(head_dim). The inputs may be strided along all but the last axis."
    ),
    axes={
        "batch": "documents",
        "blocks": "blocks of a document",
        "block": "tokens of a block",
        "window_blocks": "newest blocks a query attends to, its own included",
        "global_blocks": "first blocks of the document, which every query attends to",
        "kept_percent": "share of all other blocks that are attended to",
        **llama.AXES,
    },
    # One mask serves all layers of a document, so it is known before a step begins.
    state=(KEEP,),
    inputs=attention.inputs(*DOCUMENT, scale=QKV_SCALE),
    outputs=(attention.output(*DOCUMENT),),
    program="sparse_document_layers",
    program_state=(*llama.weights(qkv_scale=QKV_SCALE), KEEP),
    program_inputs=attention.hidden_state("x", *DOCUMENT),
    program_outputs=attention.hidden_state("y", *DOCUMENT),
    chain={"x": "y"},
    # The MLP's sum is the longest; norm, projection, attention and MLP each store their result.
    tolerances=tolerances(terms=14336, roundings=4),
    operator_tolerances=operator_tolerances(terms=14336, roundings=4),
    held_back=HeldBack(
        free=("batch", "blocks"),
        strided=("blocks",),
        special=attention.SPECIAL_VALUES,
    ),
)

BASELINES = (
    Baseline(
        name="sdpa",
        package="torch",
        title="scaled_dot_product_attention with the mask as one boolean matrix",
    ),
    Baseline(
        name="flex_attention",
        package="torch",
        title="FlexAttention, compiled, with the mask as lists of blocks",
    ),
)


def pairs(axes: Axes) -> int:
    """Expected query-key pairs of one document and head under a random mask."""
    blocks, size = axes["blocks"], axes["block"]
    seen, chosen = 0, 0
    for block in range(blocks):
        sure = min(block, axes["window_blocks"] - 1 + axes["global_blocks"])
        seen += sure
        chosen += block - sure
    whole = seen * size**2 + chosen * size**2 * axes["kept_percent"] // 100
    return whole + blocks * size * (size + 1) // 2


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: scores and their product with V."""
    return attention.flops(axes, pairs(axes))


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: q, k, v and the output once; the mask is negligible."""
    tokens = axes["batch"] * axes["blocks"] * axes["block"]
    return attention.bytes_moved(axes, dtype, tokens=tokens)


_SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 32, "hidden": 128, "ffn": 256}


def _small(*, blocks: int, block: int) -> Axes:
    return _masked(_SMALL, blocks=blocks, block=block, window_blocks=2, kept_percent=25)


def _large(model: Axes, *, blocks: int) -> Axes:
    return _masked(model, blocks=blocks, block=128, window_blocks=4, kept_percent=10)


def _masked(model: Axes, **sizes: int) -> Axes:
    return llama.sized(model, layers=1, batch=1, global_blocks=1, **sizes)


PRESETS = {
    "tiny": presets.tiny(
        title="A layer small enough for a test of the application",
        baseline="sdpa",
        candidate="torch_gathered",
        workloads=(Workload(name="256", axes=_small(blocks=8, block=32), weight=1.0),),
    ),
    "cpu": presets.cpu(
        title="One layer on the processor over documents of 2048 and 1024 tokens",
        baseline="sdpa",
        candidate="torch_gathered",
        workloads=(
            Workload(name="2048", axes=_small(blocks=16, block=128), weight=0.7),
            Workload(name="1024", axes=_small(blocks=8, block=128), weight=0.3),
        ),
        protocol=replace(protocols.CPU, round_ms=80.0),
    ),
    "cuda": presets.cuda(
        title="A Llama-3.2-1B layer over documents of 8K and 4K tokens, in 8 GB",
        baseline="flex_attention",
        candidate="triton_block_sparse",
        workloads=(
            Workload(name="8192", axes=_large(llama.LLAMA_1B, blocks=64), weight=0.7),
            Workload(name="4096", axes=_large(llama.LLAMA_1B, blocks=32), weight=0.3),
        ),
        protocol=replace(protocols.CUDA, max_calls=32, checked_calls=1),
    ),
    "h200": presets.h200(
        title="A Llama-3-8B layer over documents of 16K and 8K tokens",
        baseline="flex_attention",
        candidate="triton_block_sparse",
        workloads=(
            Workload(name="16384", axes=_large(llama.LLAMA_8B, blocks=128), weight=0.7),
            Workload(name="8192", axes=_large(llama.LLAMA_8B, blocks=64), weight=0.3),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
