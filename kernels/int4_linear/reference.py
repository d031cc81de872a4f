"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5
GROUP = 128
# The weight that means zero.
ZERO = 8


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`out` [batch, out_features]: the product with the weights times their groups' scales."""
    return {"out": _linear(inputs["x"].to(dtype), state["weight"], state["scale"])}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The decode step: `y` [batch, hidden], in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        x = _layer(x, {name: tensor[layer] for name, tensor in state.items()}, axes)
    return {"y": x}


def _linear(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    scales = scale.to(x.dtype).repeat_interleave(GROUP, 1)
    return x @ ((weight.to(x.dtype) - ZERO) * scales).T


def _layer(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads, width = axes["heads"], axes["kv_heads"], axes["head_dim"]
    normed = _rms_norm(x, state["norm_attention"])
    qkv = _linear(normed, state["w_qkv"].flatten(0, 1), state["s_qkv"].flatten(0, 1))
    q, k, v = qkv.view(-1, axes["qkv_heads"], width).split([heads, kv_heads, kv_heads], 1)
    position = axes["context_len"]
    attended = _attend(_rotate(q, position), _rotate(k, position), v, state)
    x = x + _linear(attended, state["w_out"].flatten(1), state["s_out"])
    normed = _rms_norm(x, state["norm_mlp"])
    gate, up = (
        _linear(normed, state["w_gate_up"][part], state["s_gate_up"][part]) for part in (0, 1)
    )
    return x + _linear(torch.nn.functional.silu(gate) * up, state["w_down"], state["s_down"])


def _attend(q: Tensor, k: Tensor, v: Tensor, state: Mapping[str, Tensor]) -> Tensor:
    """Attention over the cache and the new token: [batch, heads * head_dim]."""
    batch, heads, width = q.shape
    keys = torch.cat([state["cache_k"].to(q.dtype), k.unsqueeze(2)], 2)
    values = torch.cat([state["cache_v"].to(q.dtype), v.unsqueeze(2)], 2)
    grouped = q.reshape(batch, k.shape[1], heads // k.shape[1], width)
    share = torch.softmax(grouped @ keys.transpose(2, 3) * width**-0.5, -1)
    return (share @ values).reshape(batch, heads * width)


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight.to(x.dtype)


def _rotate(x: Tensor, position: int) -> Tensor:
    """Rotary embedding in the half-split layout that Llama's checkpoints use."""
    half = x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float64)
    angle = (position * ROPE_THETA ** (-steps / half)).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
