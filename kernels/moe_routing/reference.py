"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

NORM_EPS = 1e-6
ROPE_THETA = 10_000.0


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype | None = None,
) -> dict[str, Tensor]:
    """Every expert in turn over the tokens that chose it: `out` [tokens, hidden].

    In fp64 on the processor and fp32 on a GPU, unless `dtype` says otherwise. Experts are raised
    to it one at a time, so that the copy stays small.
    """
    dtype = dtype or _higher(inputs["x"])
    x = inputs["x"].to(dtype)
    rank = torch.arange(axes["experts"], device=x.device, dtype=dtype)
    popularity = -axes["zipf_percent"] / 100 * torch.log1p(rank)
    scores, chosen = (inputs["router_logits"].to(dtype) + popularity).topk(axes["top_k"], 1)
    share = scores.softmax(1)
    out = torch.zeros_like(x)
    for expert in range(axes["experts"]):
        token, place = (chosen == expert).nonzero(as_tuple=True)
        gate, up = (x[token] @ half.to(dtype).T for half in state["w_gate_up"][expert])
        given = (F.silu(gate) * up) @ state["w_down"][expert].to(dtype).T
        out = out.index_add(0, token, given * share[token, place, None])
    return {"out": out}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The layer: `y` [tokens, hidden], in fp64 on the processor and fp32 on a GPU."""
    dtype = _higher(inputs["x"])
    x = inputs["x"].to(dtype)
    normed = _rms_norm(x, state["norm_moe"])
    router = {"x": normed, "router_logits": normed @ state["w_router"].to(dtype).T}
    routed = reference(state, router, axes, dtype)["out"]
    gate, up = (normed @ half.to(dtype).T for half in state["w_shared_gate_up"])
    x = x + routed + (F.silu(gate) * up) @ state["w_shared_down"].to(dtype).T
    normed = _rms_norm(x, state["norm_attention"])
    q, k, v = (torch.einsum("th,ndh->ntd", normed, part.to(dtype)) for part in state["w_qkv"])
    score = _rotate(q) @ _rotate(k).mT * axes["head_dim"] ** -0.5
    later = torch.ones_like(score[0], dtype=torch.bool).triu(1)
    attended = score.masked_fill(later, float("-inf")).softmax(-1) @ v
    return {"y": x + torch.einsum("ntd,hnd->th", attended, state["w_out"].to(dtype))}


def _higher(x: Tensor) -> torch.dtype:
    return torch.float64 if x.device.type == "cpu" else torch.float32


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight.to(x.dtype)


def _rotate(x: Tensor) -> Tensor:
    """Rotary embedding of [heads, tokens, head_dim] in the half-split layout."""
    half = x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float64)
    position = torch.arange(x.shape[1], device=x.device, dtype=torch.float64)
    angle = position[:, None] * ROPE_THETA ** (-steps / half)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
