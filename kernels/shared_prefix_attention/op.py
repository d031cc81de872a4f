"""Shared-prefix decode attention as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from dataclasses import replace

from kernels import attention, llama, presets
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

# Standard deviations of the keys. At 1 a softmax over 32K keys is nearly flat, its output nearly
# zero, and a step without its attention would pass. At these scales about a dozen keys dominate, as
# in trained models, and a missing part of the cache shows in the output. Own keys are fewer and
# therefore larger.
PREFIX_KEY_SCALE = 2.8
OWN_KEY_SCALE = 4.0

PREFIX = ("kv_heads", "prefix_len", "head_dim")
OWN = ("batch", "kv_heads", "own_len", "head_dim")
TOKEN = ("batch", "kv_heads", "head_dim")
QUERY = ("batch", "heads", "head_dim")

DEFINITION = Definition(
    operator="shared_prefix_attention",
    title="Shared-prefix decode attention",
    summary=(
        "One query token for each of `batch` sequences attends to a prompt that all of them "
        "share, to its sequence's own earlier tokens and to itself. Grouped queries: head h "
        "reads key/value head h // (heads / kv_heads). Scores are scaled by 1/sqrt(head_dim). "
        "The inputs may be strided along the batch."
    ),
    axes={
        "batch": "sequences decoded together",
        "prefix_len": "tokens of the shared prompt",
        "own_len": "earlier tokens of each sequence's own",
        **llama.AXES,
    },
    state=(
        TensorSpec(name="prefix_k", shape=PREFIX, scale=PREFIX_KEY_SCALE),
        TensorSpec(name="prefix_v", shape=PREFIX),
        TensorSpec(name="own_k", shape=OWN, scale=OWN_KEY_SCALE),
        TensorSpec(name="own_v", shape=OWN),
    ),
    inputs=(
        TensorSpec(name="q", shape=QUERY),
        TensorSpec(name="k_new", shape=TOKEN),
        TensorSpec(name="v_new", shape=TOKEN),
    ),
    outputs=(TensorSpec(name="out", shape=QUERY),),
    program="llama_decode_step",
    program_state=(
        *llama.weights(),
        TensorSpec(name="prefix_k", shape=("layers", *PREFIX), scale=PREFIX_KEY_SCALE),
        TensorSpec(name="prefix_v", shape=("layers", *PREFIX)),
        TensorSpec(name="own_k", shape=("layers", *OWN), scale=OWN_KEY_SCALE),
        TensorSpec(name="own_v", shape=("layers", *OWN)),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")),),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")),),
    chain={"x": "y"},
    # 32K keys are the longest sum; norm, projection, attention and MLP each store their result.
    tolerances=tolerances(terms=1 << 15, roundings=4),
    operator_tolerances=operator_tolerances(terms=1 << 15, roundings=4),
    held_back=HeldBack(
        free=("batch", "prefix_len", "own_len"),
        strided=("batch",),
        special=(
            # exp() of such scores overflows unless the row's maximum is subtracted first.
            SpecialValues(
                name="large scores",
                contents={"prefix_k": Contents(scale=16.0), "own_k": Contents(scale=16.0)},
                gain=4.0,
            ),
            SpecialValues(name="a query of zeros", contents={"q": Contents(scale=0.0)}),
            # One sequence's NaN must appear in its own head and nowhere else.
            SpecialValues(name="a NaN in a query", contents={"q": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="sdpa",
        package="torch",
        title="scaled_dot_product_attention over each sequence's own KV cache",
    ),
    Baseline(
        name="flex_attention",
        package="torch",
        title="FlexAttention, compiled, over each sequence's own KV cache",
    ),
    Baseline(
        name="flashinfer_cascade",
        package="flashinfer-python",
        title="FlashInfer's MultiLevelCascadeAttentionWrapper over a paged KV cache",
    ),
    Baseline(
        name="flashinfer_parts",
        package="flashinfer-python",
        title="The same cascade from FlashInfer's prefill (fa2), decode and merge",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: scores and their product with V."""
    return attention.flops(axes, axes["prefix_len"] + axes["own_len"] + 1)


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: the prefix once, own parts, inputs, output."""
    prefix = 2 * axes["prefix_len"] * axes["kv_heads"]
    own = 2 * axes["batch"] * axes["kv_heads"] * (axes["own_len"] + 1)
    queries = 2 * axes["batch"] * axes["heads"]
    return (prefix + own + queries) * axes["head_dim"] * ITEM_BYTES[dtype]


_SMALL = {"heads": 8, "kv_heads": 4, "head_dim": 64, "hidden": 512, "ffn": 1536}


def _small(*, layers: int, batch: int, prefix_len: int) -> Axes:
    return llama.sized(_SMALL, layers=layers, batch=batch, prefix_len=prefix_len, own_len=32)


def _llama_8b(*, batch: int) -> Axes:
    return llama.sized(llama.LLAMA_8B, layers=4, batch=batch, prefix_len=32768, own_len=256)


def _llama_1b(*, batch: int) -> Axes:
    return llama.sized(llama.LLAMA_1B, layers=4, batch=batch, prefix_len=16384, own_len=256)


_H200 = presets.h200(
    title="Four Llama-3-8B layers, 32 and 16 sequences over a 32K prompt",
    baseline="sdpa",
    candidate="triton_cascade",
    workloads=(
        Workload(name="32x32768", axes=_llama_8b(batch=32), weight=0.7),
        Workload(name="16x32768", axes=_llama_8b(batch=16), weight=0.3),
    ),
)

PRESETS = {
    "tiny": presets.tiny(
        title="A step small enough for a test of the application",
        baseline="sdpa",
        candidate="torch_cascade",
        workloads=(
            Workload(
                name="8x1024",
                axes=_small(layers=1, batch=8, prefix_len=1024),
                weight=1.0,
            ),
        ),
    ),
    "cpu": presets.cpu(
        title="One layer on the processor, 16 sequences over one prompt",
        baseline="sdpa",
        candidate="torch_cascade",
        workloads=(
            Workload(
                name="16x4096",
                # A narrow MLP: attention is most of the step, as it is with a long prompt.
                axes={**_small(layers=1, batch=16, prefix_len=4096), "ffn": 256},
                weight=1.0,
            ),
        ),
    ),
    "cuda": presets.cuda(
        title="Four Llama-3.2-1B layers, 16 and 8 sequences over a 16K prompt, in 8 GB",
        baseline="sdpa",
        candidate="triton_cascade",
        workloads=(
            Workload(name="16x16384", axes=_llama_1b(batch=16), weight=0.7),
            Workload(name="8x16384", axes=_llama_1b(batch=8), weight=0.3),
        ),
    ),
    "h200": _H200,
    "h200-flashinfer": replace(
        _H200,
        title="The same, held against FlashInfer's cascade as it is shipped",
        baseline="flashinfer_cascade",
    ),
    "h200-flashinfer-parts": replace(
        _H200,
        title="The same, held against a cascade put together from FlashInfer's parts",
        baseline="flashinfer_parts",
    ),
}
