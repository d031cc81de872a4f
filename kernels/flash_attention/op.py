"""Causal attention over a prompt as plain data: axes, tensors, tolerances, cost. No torch here."""

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

# Standard deviation of queries and keys. At 1 a softmax over thousands of keys is nearly zero
# everywhere, and a step without its attention would pass.
QKV_SCALE = 1.6

DOCUMENT = ("batch", "seq_len")

DEFINITION = Definition(
    operator="flash_attention",
    title="Causal attention over a prompt",
    summary=(
        "Query i attends to every key j <= i. Grouped queries: head h reads key/value head "
        "h // (heads / kv_heads). Scores are scaled by 1/sqrt(head_dim). The inputs may be "
        "strided along all but the last axis."
    ),
    axes={
        "batch": "prompts",
        "seq_len": "tokens of a prompt",
        **{axis: words for axis, words in llama.AXES.items() if axis != "ffn"},
    },
    state=(),
    inputs=attention.inputs(*DOCUMENT, scale=QKV_SCALE),
    outputs=(attention.output(*DOCUMENT),),
    program="prefill_attention_block",
    program_state=llama.attention_weights(qkv_scale=QKV_SCALE),
    program_inputs=attention.hidden_state("x", *DOCUMENT),
    program_outputs=attention.hidden_state("y", *DOCUMENT),
    chain={"x": "y"},
    # The longest sum is over a whole prompt; norm, projections and attention are stored.
    tolerances=tolerances(terms=1 << 13, roundings=4),
    # A kernel may store its scores in 16 bits.
    operator_tolerances=operator_tolerances(terms=1 << 13, roundings=4, rms_factor=4.0),
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
        title="scaled_dot_product_attention, whichever back end torch picks",
    ),
    Baseline(
        name="sdpa_cudnn",
        package="torch",
        title="scaled_dot_product_attention by cuDNN",
    ),
    Baseline(
        name="flex_attention",
        package="torch",
        title="FlexAttention, compiled, with a causal block mask",
    ),
    Baseline(
        name="flash_attention_4",
        package="flash-attn-4",
        title="FlashAttention-4, the CuTe DSL kernels of flash_attn.cute",
    ),
)


def pairs(axes: Axes) -> int:
    """Query-key pairs of one prompt and head."""
    return axes["seq_len"] * (axes["seq_len"] + 1) // 2


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: scores and their product with V."""
    return attention.flops(axes, pairs(axes))


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: q, k, v and the output once."""
    return attention.bytes_moved(axes, dtype, tokens=axes["batch"] * axes["seq_len"])


_SMALL = {"heads": 4, "kv_heads": 2, "head_dim": 32, "hidden": 128}


def _of(model: Axes, *, batch: int, seq_len: int) -> Axes:
    attention = {axis: size for axis, size in model.items() if axis != "ffn"}
    return llama.sized(attention, layers=1, batch=batch, seq_len=seq_len)


_H200 = presets.h200(
    title="A Llama-3-8B attention block over four prompts of 8192 and of 2048 tokens",
    baseline="sdpa_cudnn",
    candidate="triton_flash",
    workloads=(
        Workload(name="4x8192", axes=_of(llama.LLAMA_8B, batch=4, seq_len=8192), weight=0.7),
        Workload(name="4x2048", axes=_of(llama.LLAMA_8B, batch=4, seq_len=2048), weight=0.3),
    ),
    protocol=replace(protocols.H200, max_calls=8),
)

PRESETS = {
    "tiny": presets.tiny(
        title="An attention block small enough for a test of the application",
        baseline="sdpa",
        candidate="torch_naive",
        workloads=(Workload(name="2x128", axes=_of(_SMALL, batch=2, seq_len=128), weight=1.0),),
    ),
    "cpu": presets.cpu(
        title="One attention block on the processor over prompts of 1024 and 512 tokens",
        baseline="sdpa",
        candidate="torch_naive",
        workloads=(
            Workload(name="2x1024", axes=_of(_SMALL, batch=2, seq_len=1024), weight=0.7),
            Workload(name="2x512", axes=_of(_SMALL, batch=2, seq_len=512), weight=0.3),
        ),
    ),
    "cuda": presets.cuda(
        title="A Llama-3.2-1B attention block over prompts of 4096 and 2048 tokens, in 8 GB",
        baseline="sdpa",
        candidate="triton_flash",
        workloads=(
            Workload(name="2x4096", axes=_of(llama.LLAMA_1B, batch=2, seq_len=4096), weight=0.7),
            Workload(name="2x2048", axes=_of(llama.LLAMA_1B, batch=2, seq_len=2048), weight=0.3),
        ),
        protocol=replace(protocols.CUDA, max_calls=32, checked_calls=1),
    ),
    "h200": _H200,
    "h200-fa4": replace(
        _H200,
        title="The same, held against FlashAttention-4",
        baseline="flash_attention_4",
    ),
}
