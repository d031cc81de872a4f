"""Paged decode attention as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

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

# Tokens of a page, of one key/value head: 8 KB of FP8 at a head of 128.
PAGE = 64
INDEX_BYTES, SCALE_BYTES = 4, 4
# Standard deviation of the stored keys. With scales of 0 to 1 a few keys dominate in most heads, as
# in trained models, so that a missing page shows in the output.
KEY_SCALE = 4.0

POOL = ("pages", "kv_heads", PAGE, "head_dim")
TOKEN = ("batch", "kv_heads", "head_dim")
QUERY = ("batch", "heads", "head_dim")


def _pool(name: str, *before: str, scale: float = 1.0) -> TensorSpec:
    return TensorSpec(name=name, shape=(*before, *POOL), dtype="float8_e4m3fn", scale=scale)


def _scale(name: str, *before: str, scale: float) -> TensorSpec:
    shape = (*before, "kv_heads")
    return TensorSpec(name=name, shape=shape, dtype="float32", distribution="uniform", scale=scale)


def _cache(*before: str) -> tuple[TensorSpec, ...]:
    return (
        _pool("cache_k", *before, scale=KEY_SCALE),
        _pool("cache_v", *before),
        _scale("k_scale", *before, scale=1.0),
        _scale("v_scale", *before, scale=2.0),
    )


PAGE_TABLE = TensorSpec(
    name="page_table",
    shape=("batch", "pages_each"),
    dtype="int32",
    distribution="uniform",
    below="pages",
)
LAST = TensorSpec(
    name="last", shape=("batch",), dtype="int32", distribution="uniform", below="context_len"
)

DEFINITION = Definition(
    operator="paged_decode",
    title="Paged decode attention over an FP8 cache",
    summary=(
        "One query token for each of `batch` sequences attends to the cached tokens 0 to last[b] "
        "of its sequence and to itself. Token t is in slot t % 64 of page page_table[b, t // 64]; "
        "pages may be shared, and slots and table entries after last[b] are arbitrary. Keys and "
        "values are stored in FP8 (e4m3) with a scale for each key/value head. Grouped queries: "
        "head h reads key/value head h // (heads / kv_heads). Scores are scaled by "
        "1/sqrt(head_dim). The inputs may be strided along the batch."
    ),
    axes={
        "batch": "sequences decoded together",
        "pages": "pages of the pool",
        "pages_each": "entries of a sequence's page table",
        "context_len": "64 pages_each: the most cached tokens of a sequence",
        **llama.AXES,
    },
    state=_cache(),
    inputs=(
        TensorSpec(name="q", shape=QUERY),
        TensorSpec(name="k_new", shape=TOKEN),
        TensorSpec(name="v_new", shape=TOKEN),
        PAGE_TABLE,
        LAST,
    ),
    outputs=(TensorSpec(name="out", shape=QUERY),),
    program="llama_paged_decode_step",
    program_state=(*llama.weights(), *_cache("layers")),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")), PAGE_TABLE, LAST),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")),),
    chain={"x": "y"},
    # 32K keys are the longest sum; norm, projection, attention and MLP each store their result.
    tolerances=tolerances(terms=1 << 15, roundings=4),
    operator_tolerances=operator_tolerances(terms=1 << 15, roundings=4),
    held_back=HeldBack(
        free=("batch", "pages"),
        strided=("batch",),
        special=(
            # exp() of such scores overflows unless the row's maximum is subtracted first.
            SpecialValues(name="large scores", contents={"q": Contents(scale=16.0)}, gain=4.0),
            SpecialValues(name="a query of zeros", contents={"q": Contents(scale=0.0)}),
            # One sequence's NaN must appear in its own head and nowhere else.
            SpecialValues(name="a NaN in a query", contents={"q": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="gathered",
        package="torch",
        title="pages gathered and widened, then scaled_dot_product_attention with a mask",
    ),
    Baseline(
        name="paged_flex",
        package="torch",
        title="FlexAttention, compiled, over pages widened beforehand, by a block mask of pages",
    ),
)


def cached_tokens(axes: Axes) -> int:
    """Cached tokens of all sequences, in the mean: lengths are even from 1 to context_len."""
    return axes["batch"] * (axes["context_len"] + 1) // 2


def flops(axes: Axes) -> int:
    """Multiply-adds of one call in the mean, counted as two: scores and their product with V."""
    return attention.flops(axes, (axes["context_len"] + 1) // 2 + 1)


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call in the mean: used slots in FP8, tables, inputs, output."""
    token = 2 * axes["kv_heads"] * axes["head_dim"]
    cache = cached_tokens(axes) * token + 2 * axes["kv_heads"] * SCALE_BYTES
    table = (cached_tokens(axes) // PAGE + axes["batch"]) * INDEX_BYTES
    rows = axes["batch"] * (token + 2 * axes["heads"] * axes["head_dim"])
    return cache + table + rows * ITEM_BYTES[dtype]


def _workload(model: Axes, *, layers: int, batch: int, pages_each: int, weight: float) -> Workload:
    """A pool that would hold every sequence at full length."""
    axes = llama.sized(
        model,
        layers=layers,
        batch=batch,
        pages=batch * pages_each,
        pages_each=pages_each,
        context_len=pages_each * PAGE,
    )
    return Workload(name=f"{batch} up to {pages_each * PAGE}", axes=axes, weight=weight)


_SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 32, "hidden": 96, "ffn": 160}
_LLAMA_8B = (
    _workload(llama.LLAMA_8B, layers=2, batch=64, pages_each=256, weight=0.7),
    _workload(llama.LLAMA_8B, layers=2, batch=16, pages_each=512, weight=0.3),
)
_TITLE = "Two Llama-3-8B layers, 64 sequences of up to 16K and 16 of up to 32K tokens in FP8"

PRESETS = {
    "tiny": presets.tiny(
        title="Five sequences of up to 192 tokens",
        baseline="gathered",
        candidate="torch_online",
        workloads=(_workload(_SMALL, layers=1, batch=5, pages_each=3, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Four Llama-3.2-1B layers, 16 sequences of up to 8K tokens in FP8, in 8 GB",
        baseline="gathered",
        candidate="triton_paged",
        workloads=(_workload(llama.LLAMA_1B, layers=4, batch=16, pages_each=128, weight=1.0),),
    ),
    "h200": presets.h200(
        title=_TITLE, baseline="paged_flex", candidate="triton_paged", workloads=_LLAMA_8B
    ),
    "h100": presets.h100(
        title=_TITLE, baseline="paged_flex", candidate="triton_paged", workloads=_LLAMA_8B
    ),
}
