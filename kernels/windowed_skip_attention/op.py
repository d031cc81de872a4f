"""Windowed attention with skip keys as plain data: axes, tensors, tolerances, cost. No torch."""

from __future__ import annotations

from dataclasses import replace

from kernels import attention, llama, presets, protocols
from kernels.definition import (
    Axes,
    Baseline,
    Definition,
    HeldBack,
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

# Standard deviation of queries and keys. At 1 a softmax over a window is nearly zero everywhere,
# and an attention without the skip keys would pass.
QKV_SCALE = 1.4

DOCUMENT = ("batch", "seq_len")

DEFINITION = Definition(
    operator="windowed_skip_attention",
    title="Windowed attention with skip keys",
    summary=(
        "Causal self-attention of a long document. Query i attends to key j <= i when "
        "i - j < window, or when j is a multiple of stride. Grouped queries: head h reads "
        "key/value head h // (heads / kv_heads). Scores are scaled by 1/sqrt(head_dim). The "
        "inputs may be strided along all but the last axis."
    ),
    axes={
        "batch": "documents",
        "seq_len": "tokens of a document",
        "window": "newest keys a query attends to, itself included",
        "stride": "every stride-th earlier key is attended to as well",
        **llama.AXES,
    },
    state=(),
    inputs=attention.inputs(*DOCUMENT, scale=QKV_SCALE),
    outputs=(attention.output(*DOCUMENT),),
    program="long_document_layers",
    program_state=llama.weights(qkv_scale=QKV_SCALE),
    program_inputs=attention.hidden_state("x", *DOCUMENT),
    program_outputs=attention.hidden_state("y", *DOCUMENT),
    chain={"x": "y"},
    # The MLP's sum is the longest; norm, projection, attention and MLP each store their result.
    tolerances=tolerances(terms=14336, roundings=4),
    operator_tolerances=operator_tolerances(terms=14336, roundings=4),
    held_back=HeldBack(
        free=("batch", "seq_len"),
        strided=("seq_len",),
        special=attention.SPECIAL_VALUES,
    ),
)

BASELINES = (
    Baseline(
        name="sdpa",
        package="torch",
        title="scaled_dot_product_attention with the pattern as one boolean mask",
    ),
    Baseline(
        name="sdpa_banded",
        package="torch",
        title="scaled_dot_product_attention by blocks of queries, over window and skip keys",
    ),
    Baseline(
        name="flex_attention",
        package="torch",
        title="FlexAttention, compiled, with the pattern as block mask",
    ),
    Baseline(
        name="flex_attention_gathered",
        package="torch",
        title="FlexAttention, compiled, block mask over the skip keys gathered before the others",
    ),
)


def pairs(axes: Axes) -> int:
    """Query-key pairs of one document and head."""
    window, stride, length = axes["window"], axes["stride"], axes["seq_len"]
    near = sum(min(query + 1, window) for query in range(length))
    # Query i sees skip keys 0, stride, ... <= i - window.
    far = sum((query - window) // stride + 1 for query in range(window, length))
    return near + far


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: scores and their product with V."""
    return attention.flops(axes, pairs(axes))


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: q, k, v and the output once."""
    return attention.bytes_moved(axes, dtype, tokens=axes["batch"] * axes["seq_len"])


_SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 64, "hidden": 256, "ffn": 768}


def _small(*, seq_len: int) -> Axes:
    return llama.sized(_SMALL, layers=1, batch=1, seq_len=seq_len, window=256, stride=32)


def _llama_8b(*, seq_len: int) -> Axes:
    return llama.sized(llama.LLAMA_8B, layers=1, batch=1, seq_len=seq_len, window=2048, stride=64)


def _llama_1b(*, seq_len: int) -> Axes:
    return llama.sized(llama.LLAMA_1B, layers=1, batch=1, seq_len=seq_len, window=1024, stride=64)


PRESETS = {
    "tiny": presets.tiny(
        title="A layer small enough for a test of the application",
        baseline="sdpa_banded",
        candidate="torch_blocked",
        workloads=(Workload(name="512", axes=_small(seq_len=512), weight=1.0),),
    ),
    "cpu": presets.cpu(
        title="One layer on the processor over a document of 512 tokens",
        baseline="sdpa_banded",
        candidate="torch_blocked",
        workloads=(Workload(name="512", axes=_small(seq_len=512), weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="A Llama-3.2-1B layer over documents of 8K and 4K tokens, in 8 GB",
        baseline="flex_attention_gathered",
        candidate="triton_windowed",
        workloads=(
            Workload(name="8192", axes=_llama_1b(seq_len=8192), weight=0.7),
            Workload(name="4096", axes=_llama_1b(seq_len=4096), weight=0.3),
        ),
        protocol=replace(protocols.CUDA, max_calls=32, checked_calls=1),
    ),
    "h200": presets.h200(
        title="A Llama-3-8B layer over documents of 16K and 8K tokens",
        baseline="flex_attention_gathered",
        candidate="triton_windowed",
        workloads=(
            Workload(name="16384", axes=_llama_8b(seq_len=16384), weight=0.7),
            Workload(name="8192", axes=_llama_8b(seq_len=8192), weight=0.3),
        ),
        protocol=replace(protocols.H200, max_calls=16),
    ),
}
