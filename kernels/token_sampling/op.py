"""Top-k and top-p sampling as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from kernels import presets, protocols
from kernels.definition import (
    ITEM_BYTES,
    Axes,
    Baseline,
    Contents,
    Definition,
    HeldBack,
    SpecialValues,
    TensorSpec,
    Tolerance,
    Workload,
)

LOGIT_BYTES, NUMBER_BYTES = 4, 4
# Standard deviation of the logits: at a temperature of 1 the largest of 64 has about a fifth.
SIZE = 2.0

# A choice is discrete: where a cumulative probability is as near to `chance` as float32 rounds, or
# two logits are as near to one another, honest solutions choose different tokens, of equal worth.
# About four rows in 10,000 do; one of 15 may, and no difference between tokens is a large one.
_TOLERANCE = Tolerance(max_abs=2e-4, max_rel=0.0, matched_share=0.93, hard_cap_abs=float(1 << 20))
_EVERY_DTYPE = dict.fromkeys(("float32", "float16", "bfloat16"), _TOLERANCE)

_ROW = ("batch",)
_REQUEST = (
    TensorSpec(name="temperature", shape=_ROW, distribution="uniform"),
    TensorSpec(name="top_k", shape=_ROW, dtype="int32", distribution="uniform", below="most_k"),
    TensorSpec(name="top_p", shape=_ROW, distribution="uniform"),
    TensorSpec(name="chance", shape=_ROW, dtype="float32", distribution="uniform"),
)
_OUTPUTS = (
    TensorSpec(name="token", shape=_ROW, dtype="int32"),
    TensorSpec(name="probability", shape=("batch", "most_k"), dtype="float32"),
)

DEFINITION = Definition(
    operator="token_sampling",
    title="Top-k and top-p sampling",
    summary=(
        "For each row: the top_k + 1 largest of the float32 logits, of equal ones those first in "
        "the vocabulary; their softmax after division by max(temperature, 0.01); of these, the "
        "largest and every one with less than top_p before it are kept and divided by their sum. "
        "`probability` has them in falling order, then zeros; `token` is the first one whose "
        "cumulative probability exceeds `chance`, a uniform number from 0 to 1. top_k is below "
        "most_k, which is at most the vocabulary. The inputs may be strided along the batch."
    ),
    axes={
        "batch": "sequences, each with a temperature, top_k, top_p and chance of its own",
        "vocab": "tokens of the vocabulary",
        "most_k": "the largest top_k of any request",
        "hidden": "width of the hidden state",
    },
    state=(),
    inputs=(
        TensorSpec(name="logits", shape=("batch", "vocab"), dtype="float32", scale=SIZE),
        *_REQUEST,
    ),
    outputs=_OUTPUTS,
    program="llama_next_token",
    program_state=(
        TensorSpec(name="w_vocab", shape=("vocab", "hidden"), fan_in=("hidden",), scale=SIZE),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")), *_REQUEST),
    program_outputs=_OUTPUTS,
    chain={"x": "token"},
    tolerances=_EVERY_DTYPE,
    operator_tolerances=_EVERY_DTYPE,
    held_back=HeldBack(
        free=("batch",),
        strided=("batch",),
        special=(
            SpecialValues(name="cold", contents={"temperature": Contents(scale=0.0)}),
            SpecialValues(name="only the largest", contents={"top_p": Contents(scale=0.0)}),
            SpecialValues(name="a token ruled out", contents={"logits": Contents(plant="-inf")}),
        ),
    ),
)

BASELINES = (
    Baseline(name="topk", package="torch", title="torch.topk, then the rest eagerly"),
    Baseline(name="compiled", package="torch", title="torch.topk, the rest under torch.compile"),
    Baseline(name="sort", package="torch", title="the whole vocabulary sorted, as vLLM falls back"),
)


def flops(axes: Axes) -> int:
    """Operations of one call: a comparison a logit."""
    return axes["batch"] * axes["vocab"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: logits read once, requests, results."""
    row = axes["vocab"] * LOGIT_BYTES + 2 * ITEM_BYTES[dtype] + (3 + axes["most_k"]) * NUMBER_BYTES
    return axes["batch"] * row


def _workload(model: Axes, *, batch: int, weight: float) -> Workload:
    return Workload(name=f"{batch} sequences", axes={"batch": batch, **model}, weight=weight)


_LLAMA_8B = {"vocab": 128256, "most_k": 64, "hidden": 4096}
_SMALL = {"vocab": 500, "most_k": 8, "hidden": 24}
_TITLE = "Llama 3 8B's last product and sampling, 128 and 32 sequences"
_DECODE = (
    _workload(_LLAMA_8B, batch=128, weight=0.5),
    _workload(_LLAMA_8B, batch=32, weight=0.5),
)

PRESETS = {
    "tiny": presets.tiny(
        title="Five sequences of a small vocabulary",
        baseline="topk",
        candidate="torch_maxima",
        workloads=(_workload(_SMALL, batch=5, weight=1.0),),
    ),
    "h200": presets.h200(
        title=_TITLE,
        baseline="compiled",
        candidate="triton_maxima",
        workloads=_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
    "h100": presets.h100(
        title=_TITLE,
        baseline="compiled",
        candidate="triton_maxima",
        workloads=_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
}
