"""A mixture of experts as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from dataclasses import replace

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
    Workload,
)
from kernels.tolerances import tolerances

# Standard deviation of the logits. With the log-popularities it gives loads by Zipf's law: with 64
# experts, 6 a token and zipf_percent 120 the busiest has 9.7 times the mean.
LOGIT_SCALE = 1.28
# With this scale an expert's output is about 0.6 in size, and the weighted sum of six 0.4.
DOWN_SCALE = 2.5

ROWS = ("tokens", "hidden")
GATE_UP = TensorSpec(name="w_gate_up", shape=("experts", 2, "inner", "hidden"), fan_in=("hidden",))
DOWN = TensorSpec(
    name="w_down", shape=("experts", "hidden", "inner"), scale=DOWN_SCALE, fan_in=("inner",)
)

# The choice of experts is discontinuous: if a token's last chosen and first unchosen expert score
# equally within fp32's rounding, honest routers may choose differently (about one call of 30 at
# 4096 tokens). That token's error is the difference of the two experts, at most a sixth of
# sqrt(2) * 0.6; six standard deviations of it are 0.85. The matched share limits how many.
SIX_SIGMAS_OF_ANOTHER_EXPERT = 0.85
TOLERANCES = {
    # Longest sum: the hidden state. Stored: norm, inner state, expert, sum; then the attention.
    dtype: replace(
        plain,
        matched_share=0.999,
        hard_cap_abs=round(plain.hard_cap_abs + SIX_SIGMAS_OF_ANOTHER_EXPERT, 2),
        # A token whose scores tie may go to another expert on either side.
        rms_factor=2.5,
    )
    for dtype, plain in tolerances(terms=4096, roundings=6).items()
}

DEFINITION = Definition(
    operator="moe_routing",
    title="Mixture-of-experts routing",
    summary=(
        "Each token goes to the `top_k` experts of the highest score, a score being the router's "
        "logit plus the expert's log-popularity, -zipf_percent / 100 * log(1 + expert). Each "
        "expert is a SwiGLU MLP; out[t] is the sum of what the chosen ones give, weighed by the "
        "softmax over their scores. No token is dropped. The inputs may be strided along the "
        "tokens."
    ),
    axes={
        "tokens": "tokens of a call",
        "experts": "experts",
        "top_k": "experts that a token goes to",
        "hidden": "width of the hidden state",
        "inner": "inner width of an expert",
        "zipf_percent": "exponent of the experts' popularity by Zipf's law, in hundredths",
        "shared": "inner width of the experts that every token goes to",
        "heads": "attention heads",
        "head_dim": "width of a head",
    },
    state=(GATE_UP, DOWN),
    inputs=(
        TensorSpec(name="x", shape=ROWS),
        TensorSpec(
            name="router_logits", shape=("tokens", "experts"), dtype="float32", scale=LOGIT_SCALE
        ),
    ),
    outputs=(TensorSpec(name="out", shape=ROWS),),
    program="moe_layer",
    program_state=(
        TensorSpec(name="norm_moe", shape=("hidden",), distribution="ones"),
        TensorSpec(
            name="w_router",
            shape=("experts", "hidden"),
            dtype="float32",
            scale=LOGIT_SCALE,
            fan_in=("hidden",),
        ),
        GATE_UP,
        DOWN,
        TensorSpec(name="w_shared_gate_up", shape=(2, "shared", "hidden"), fan_in=("hidden",)),
        TensorSpec(name="w_shared_down", shape=("hidden", "shared"), fan_in=("shared",)),
        TensorSpec(name="norm_attention", shape=("hidden",), distribution="ones"),
        TensorSpec(name="w_qkv", shape=(3, "heads", "head_dim", "hidden"), fan_in=("hidden",)),
        TensorSpec(
            name="w_out", shape=("hidden", "heads", "head_dim"), fan_in=("heads", "head_dim")
        ),
    ),
    program_inputs=(TensorSpec(name="x", shape=ROWS),),
    program_outputs=(TensorSpec(name="y", shape=ROWS),),
    chain={"x": "y"},
    tolerances=TOLERANCES,
    held_back=HeldBack(
        free=("tokens",),
        strided=("tokens",),
        special=(
            SpecialValues(
                name="one expert's score above all",
                contents={"router_logits": Contents(scale=30.0)},
            ),
            SpecialValues(name="tokens of zeros", contents={"x": Contents(scale=0.0)}),
            # One token's NaN must appear in that token and nowhere else.
            SpecialValues(name="a NaN in a token", contents={"x": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="padded",
        package="torch",
        title="one batched matmul over the experts, each padded to the largest load",
    ),
    Baseline(name="loop", package="torch", title="one expert after the other, as models write it"),
    Baseline(name="grouped_mm", package="torch", title="tokens sorted, torch's grouped_mm"),
    Baseline(name="compiled_grouped_mm", package="torch", title="the same under torch.compile"),
    Baseline(
        name="flashinfer_cutlass",
        package="flashinfer-python",
        title="FlashInfer's cutlass_fused_moe, which is TensorRT-LLM's",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two: gate, up and down of every choice."""
    return 6 * axes["tokens"] * axes["top_k"] * axes["hidden"] * axes["inner"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: tokens in and out, logits, weights of experts in use."""
    weights = int(3 * busy_experts(axes) * axes["hidden"] * axes["inner"])
    rows = 2 * axes["tokens"] * axes["hidden"]
    return (weights + rows) * ITEM_BYTES[dtype] + 4 * axes["tokens"] * axes["experts"]


def busy_experts(axes: Axes) -> float:
    """Expected number of experts with a token, if choices were drawn by popularity."""
    shares = [(1 + rank) ** (-axes["zipf_percent"] / 100) for rank in range(axes["experts"])]
    picked = [min(1.0, axes["top_k"] * share / sum(shares)) for share in shares]
    return sum(1 - (1 - share) ** axes["tokens"] for share in picked)


def _workload(tokens: int, *, weight: float, **model: int) -> Workload:
    axes = {"tokens": tokens, **model}
    return Workload(name=f"{tokens} tokens", axes=axes, weight=weight)


# DeepSeek-V2-Lite: 64 experts of 1408, 6 a token, and two more that every token goes to
# (DeepSeek-AI, DeepSeek-V2, 2024, appendix B). Heads are plain ones of 128, not latent.
DEEPSEEK_V2_LITE = {
    "experts": 64,
    "top_k": 6,
    "hidden": 2048,
    "inner": 1408,
    "zipf_percent": 120,
    "shared": 2816,
    "heads": 16,
    "head_dim": 128,
}
SMALL = {
    "experts": 16,
    "top_k": 4,
    "hidden": 512,
    "inner": 352,
    "zipf_percent": 120,
    "shared": 704,
    "heads": 4,
    "head_dim": 64,
}
TINY = {
    "experts": 4,
    "top_k": 2,
    "hidden": 32,
    "inner": 24,
    "zipf_percent": 120,
    "shared": 32,
    "heads": 2,
    "head_dim": 16,
}

PRESETS = {
    "tiny": presets.tiny(
        title="A layer small enough for a test of the application",
        baseline="padded",
        candidate="torch_sorted",
        workloads=(_workload(16, weight=1.0, **TINY),),
    ),
    "cpu": presets.cpu(
        title="One layer on the processor: 16 experts, 4 a token, Zipf loads",
        baseline="padded",
        candidate="torch_sorted",
        target=1.4,
        workloads=(_workload(1024, weight=1.0, **SMALL),),
    ),
    "cuda": presets.cuda(
        title="One layer of a small mixture of experts, 2048 tokens, Zipf loads, in 8 GB",
        baseline="padded",
        candidate="triton_grouped",
        target=1.4,
        workloads=(_workload(2048, weight=1.0, **{**SMALL, "hidden": 1024, "inner": 704}),),
    ),
    "h200": presets.h200(
        title="One DeepSeek-V2-Lite layer, 4096 tokens, Zipf loads, against grouped_mm, compiled",
        baseline="compiled_grouped_mm",
        candidate="cuda_gluon",
        target=1.2,
        workloads=(_workload(4096, weight=1.0, **DEEPSEEK_V2_LITE),),
        protocol=replace(protocols.H200, max_calls=16),
    ),
    "h200_padded": presets.h200(
        title="The same layer against the padded batched matmul",
        baseline="padded",
        candidate="cuda_gluon",
        target=1.4,
        workloads=(_workload(4096, weight=1.0, **DEEPSEEK_V2_LITE),),
        protocol=replace(protocols.H200, max_calls=8),
    ),
}
