"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`q_turned` and `k_turned` [batch, seq_len, heads, head_dim]."""
    cos = state["cos"].to(dtype)[None, :, None]
    sin = state["sin"].to(dtype)[None, :, None]

    def turned(x: Tensor) -> Tensor:
        first, second = x.to(dtype).chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    return {"q_turned": turned(inputs["q"]), "k_turned": turned(inputs["k"])}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The attention block: `y` [batch, seq_len, hidden], in fp64 on the processor, else fp32."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        x = _block(x, {name: tensor[layer] for name, tensor in state.items()}, axes)
    return {"y": x}


def _block(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads, dtype = axes["heads"], axes["kv_heads"], x.dtype
    normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS)
    normed = normed * state["norm_attention"].to(dtype)
    qkv = torch.einsum("bsh,ndh->bsnd", normed, state["w_qkv"].to(dtype))
    q, k, v = qkv.split([heads, kv_heads, kv_heads], 2)
    turned = reference(_tables(axes, x.device), {"q": q, "k": k}, axes, dtype)
    attended = _attend(turned["q_turned"], turned["k_turned"], v)
    return x + torch.einsum("bsnd,hnd->bsh", attended, state["w_out"].to(dtype))


def _tables(axes: Mapping[str, int], device: torch.device) -> dict[str, Tensor]:
    half = axes["half_dim"]
    steps = torch.arange(half, device=device, dtype=torch.float64)
    positions = torch.arange(axes["seq_len"], device=device, dtype=torch.float64)
    angle = positions[:, None] * ROPE_THETA ** (-steps / half)
    return {"cos": angle.cos(), "sin": angle.sin()}


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention [batch, seq_len, heads, head_dim], one head at a time: scores are large."""
    length, heads, width = q.shape[1:]
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    group = heads // k.shape[2]
    out = torch.empty_like(q)
    for head in range(heads):
        scores = q[:, :, head] @ k[:, :, head // group].transpose(1, 2) * width**-0.5
        share = torch.softmax(scores.masked_fill(future, float("-inf")), -1)
        out[:, :, head] = share @ v[:, :, head // group]
    return out
