"""Paged latent attention (MLA) in decoding as plain data: axes, tensors, cost. No torch here."""

from __future__ import annotations

from kernels import presets
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

# Tokens of a page.
PAGE = 64
INDEX_BYTES = 4
# Standard deviation of the queries before their scale of 1/sqrt(192): a few of 16K keys dominate,
# as in trained models.
QUERY_SCALE = 1.6

QUERY = ("batch", "heads", "entry_dim")
CACHE = TensorSpec(name="cache", shape=("pages", PAGE, "entry_dim"))
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


def _weight(name: str, shape: tuple[str, ...], *summed: str, scale: float = 1.0) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, fan_in=summed, scale=scale)


def _norm(name: str, axis: str) -> TensorSpec:
    return TensorSpec(name=name, shape=(axis,), distribution="ones")


DEFINITION = Definition(
    operator="mla_decode",
    title="Paged latent attention (MLA) in decoding",
    summary=(
        "One query token for each of `batch` sequences, with `heads` queries that share one key, "
        "attends to the cached entries 0 to last[b] of its sequence and to the new one. Entry t is "
        "in slot t % 64 of page page_table[b, t // 64]; slots and table entries after last[b] are "
        "arbitrary. A key is a whole entry (latent, then rotated part), a value its latent. "
        "Queries have the keys' projection and the scores' scale absorbed. The inputs may be "
        "strided along the batch."
    ),
    axes={
        "batch": "sequences decoded together",
        "pages": "pages of the pool",
        "pages_each": "entries of a sequence's page table",
        "context_len": "64 pages_each: the most cached tokens of a sequence",
        "heads": "queries of a token",
        "latent_dim": "width of a latent, and of a result",
        "rope_dim": "width of an entry's rotated part",
        "entry_dim": "latent_dim + rope_dim",
        "nope_dim": "width of a query's part without rotation, before absorption",
        "value_dim": "width of a head's value after its projection",
        "query_dim": "nope_dim + rope_dim",
        "query_rank": "width of the queries' latent",
        "hidden": "width of the hidden state",
    },
    state=(CACHE,),
    inputs=(
        TensorSpec(name="q", shape=QUERY, scale=QUERY_SCALE / 192**0.5),
        TensorSpec(name="new", shape=("batch", "entry_dim")),
        PAGE_TABLE,
        LAST,
    ),
    outputs=(TensorSpec(name="out", shape=("batch", "heads", "latent_dim")),),
    program="deepseek_attention_step",
    program_state=(
        CACHE,
        _norm("norm", "hidden"),
        _weight("w_query_down", ("query_rank", "hidden"), "hidden"),
        _norm("norm_query", "query_rank"),
        _weight(
            "w_query_up", ("heads", "query_dim", "query_rank"), "query_rank", scale=QUERY_SCALE
        ),
        _weight("w_entry", ("entry_dim", "hidden"), "hidden"),
        _norm("norm_entry", "latent_dim"),
        _weight("w_key", ("heads", "nope_dim", "latent_dim"), "nope_dim"),
        _weight("w_value", ("heads", "value_dim", "latent_dim"), "latent_dim"),
        _weight("w_out", ("hidden", "heads", "value_dim"), "heads", "value_dim"),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")), PAGE_TABLE, LAST),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")),),
    chain={"x": "y"},
    # Norm, two query projections with a norm, absorption, attention, value, output projection.
    tolerances=tolerances(terms=1 << 15, roundings=8),
    operator_tolerances=operator_tolerances(terms=1 << 15, roundings=4),
    held_back=HeldBack(
        free=("batch", "pages"),
        strided=("batch",),
        special=(
            # exp() of such scores overflows unless the row's maximum is subtracted first.
            SpecialValues(name="large scores", contents={"q": Contents(scale=16.0)}, gain=4.0),
            SpecialValues(name="a query of zeros", contents={"q": Contents(scale=0.0)}),
            # One head's NaN must appear in its own row and nowhere else.
            SpecialValues(name="a NaN in a query", contents={"q": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="gathered",
        package="torch",
        title="pages gathered, then batched products and a masked softmax",
    ),
    Baseline(
        name="compiled",
        package="torch",
        title="the same, everything but the products compiled",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one call in the mean, counted as two: scores and values."""
    pairs = axes["batch"] * ((axes["context_len"] + 1) // 2 + 1)
    return 2 * pairs * axes["heads"] * (axes["entry_dim"] + axes["latent_dim"])


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call in the mean: used entries once for all heads, inputs, output."""
    tokens = axes["batch"] * (axes["context_len"] + 1) // 2
    rows = axes["batch"] * axes["heads"] * (axes["entry_dim"] + axes["latent_dim"])
    table = (tokens // PAGE + axes["batch"]) * INDEX_BYTES
    return ((tokens + axes["batch"]) * axes["entry_dim"] + rows) * ITEM_BYTES[dtype] + table


def slots(axes: Axes) -> tuple[Slot, ...]:
    """One call a step."""
    return (Slot(axes=axes, calls=1),)


_DEEPSEEK_V3 = {
    "heads": 128,
    "latent_dim": 512,
    "rope_dim": 64,
    "nope_dim": 128,
    "value_dim": 128,
    "query_rank": 1536,
    "hidden": 7168,
}
_SMALL = {
    "heads": 4,
    "latent_dim": 32,
    "rope_dim": 16,
    "nope_dim": 8,
    "value_dim": 8,
    "query_rank": 24,
    "hidden": 40,
}


def _workload(model: Axes, *, batch: int, pages_each: int, weight: float) -> Workload:
    """A pool that would hold every sequence at full length."""
    axes = {
        "batch": batch,
        "pages": batch * pages_each,
        "pages_each": pages_each,
        "context_len": pages_each * PAGE,
        **model,
        "entry_dim": model["latent_dim"] + model["rope_dim"],
        "query_dim": model["nope_dim"] + model["rope_dim"],
    }
    return Workload(name=f"{batch} up to {pages_each * PAGE}", axes=axes, weight=weight)


_TITLE = "DeepSeek-V3's attention, one layer, 64 sequences of up to 16K and 16 of up to 32K tokens"
_DECODE = (
    _workload(_DEEPSEEK_V3, batch=64, pages_each=256, weight=0.6),
    _workload(_DEEPSEEK_V3, batch=16, pages_each=512, weight=0.4),
)

PRESETS = {
    "tiny": presets.tiny(
        title="Five sequences of up to 192 tokens",
        baseline="gathered",
        candidate="torch_online",
        workloads=(_workload(_SMALL, batch=5, pages_each=3, weight=1.0),),
    ),
    "h200": presets.h200(
        title=_TITLE, baseline="compiled", candidate="triton_latent", workloads=_DECODE
    ),
    "h100": presets.h100(
        title=_TITLE, baseline="compiled", candidate="triton_latent", workloads=_DECODE
    ),
}
