"""The SwiGLU feed-forward network as plain data: axes, tensors, tolerances, cost. No torch here."""

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
    SpecialValues,
    TensorSpec,
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

ROWS = ("tokens", "hidden")
# Follows from heads and qkv_heads, and is in no tensor's shape.
DERIVED = "kv_heads"

DEFINITION = Definition(
    operator="fused_ffn",
    title="Fused feed-forward network",
    summary=(
        "out = (silu(x @ gate.T) * (x @ up.T)) @ down.T, gate and up being the two halves of "
        "w_gate_up. x may be strided along the tokens."
    ),
    axes={
        "tokens": "tokens of the prompt",
        **{axis: words for axis, words in llama.AXES.items() if axis != DERIVED},
    },
    state=(
        TensorSpec(name="w_gate_up", shape=(2, "ffn", "hidden"), fan_in=("hidden",)),
        TensorSpec(name="w_down", shape=("hidden", "ffn"), fan_in=("ffn",)),
    ),
    inputs=(TensorSpec(name="x", shape=ROWS),),
    outputs=(TensorSpec(name="out", shape=ROWS),),
    program="llama_prefill",
    program_state=llama.weights(),
    program_inputs=(TensorSpec(name="x", shape=ROWS),),
    program_outputs=(TensorSpec(name="y", shape=ROWS),),
    chain={"x": "y"},
    # 14336 is the longest sum; norm, attention, inner state and FFN each store their result.
    tolerances=tolerances(terms=1 << 14, roundings=4),
    operator_tolerances=operator_tolerances(terms=1 << 14, roundings=4),
    held_back=HeldBack(
        free=("tokens",),
        strided=("tokens",),
        special=(
            # exp(-gate) overflows here; the quotient must be zero.
            SpecialValues(name="large gates", contents={"x": Contents(scale=30.0)}, gain=1000.0),
            SpecialValues(name="tokens of zeros", contents={"x": Contents(scale=0.0)}),
            SpecialValues(name="a NaN in a token", contents={"x": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="three_matmuls",
        package="torch",
        title="gate, up and down each a matmul, as transformers' models are written",
    ),
    Baseline(
        name="joint_matmul", package="torch", title="gate and up in one matmul, as servers do"
    ),
    Baseline(name="compiled", package="torch", title="the same under torch.compile"),
    Baseline(
        name="liger_swiglu",
        package="liger-kernel",
        title="three matmuls with Liger's fused silu and multiply",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: gate, up and down."""
    return 6 * axes["tokens"] * axes["hidden"] * axes["ffn"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: weights and tokens read once, the result written once."""
    weights = 3 * axes["hidden"] * axes["ffn"]
    return (weights + 2 * axes["tokens"] * axes["hidden"]) * ITEM_BYTES[dtype]


def _workload(model: Mapping[str, int], *, tokens: int, layers: int, weight: float) -> Workload:
    axes = llama.sized(model, layers=layers, tokens=tokens)
    del axes[DERIVED]
    return Workload(name=f"{tokens} tokens", axes=axes, weight=weight)


TINY = {"heads": 2, "kv_heads": 1, "head_dim": 16, "hidden": 32, "ffn": 40}
SMALL = {"heads": 8, "kv_heads": 4, "head_dim": 64, "hidden": 512, "ffn": 1536}

PRESETS = {
    "tiny": presets.tiny(
        title="A layer small enough for a test of the application",
        baseline="three_matmuls",
        candidate="torch_in_place",
        workloads=(_workload(TINY, tokens=16, layers=1, weight=1.0),),
    ),
    "cpu": presets.cpu(
        title="Two layers on the processor, 256 tokens",
        baseline="three_matmuls",
        candidate="torch_in_place",
        workloads=(_workload(SMALL, tokens=256, layers=2, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Two Llama-3.2-1B layers, 2048 tokens, in 8 GB",
        baseline="joint_matmul",
        candidate="triton_swiglu",
        workloads=(_workload(llama.LLAMA_1B, tokens=2048, layers=2, weight=1.0),),
    ),
    "h200": presets.h200(
        title="Two Llama-3-8B layers, prompts of 4096 and of 512 tokens",
        baseline="compiled",
        candidate="cuda_gluon",
        workloads=(
            _workload(llama.LLAMA_8B, tokens=4096, layers=2, weight=0.7),
            _workload(llama.LLAMA_8B, tokens=512, layers=2, weight=0.3),
        ),
        protocol=protocols.H200_BY_TIME,
    ),
}
