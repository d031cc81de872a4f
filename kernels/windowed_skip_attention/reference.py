"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5
# Queries scored at a time: bounds the score matrix, changes nothing in the result.
QUERIES_AT_ONCE = 256


def allowed(query: Tensor, key: Tensor, window: int, stride: int) -> Tensor:
    """Whether each query position attends to each key position: the operator's whole rule."""
    distance = query.unsqueeze(-1) - key.unsqueeze(-2)
    return (distance >= 0) & ((distance < window) | (key % stride == 0).unsqueeze(-2))


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """Masked softmax attention over all keys: `out` [batch, seq_len, heads, head_dim]."""
    batch, length, heads, width = inputs["q"].shape
    group = heads // inputs["k"].shape[2]
    q = inputs["q"].to(dtype).view(batch, length, -1, group, width) * width**-0.5
    k, v = inputs["k"].to(dtype), inputs["v"].to(dtype)
    position = torch.arange(length, device=q.device)
    out = torch.empty_like(q)
    for begin in range(0, length, QUERIES_AT_ONCE):
        end = min(begin + QUERIES_AT_ONCE, length)
        # No query of this piece may see a key at or after `end`.
        rule = allowed(position[begin:end], position[:end], axes["window"], axes["stride"])
        scores = torch.einsum("bqkgd,bpkd->bkgqp", q[:, begin:end], k[:, :end])
        share = torch.softmax(scores.masked_fill_(~rule, float("-inf")), -1)
        out[:, begin:end] = torch.einsum("bkgqp,bpkd->bqkgd", share, v[:, :end])
    return {"out": out.view(batch, length, heads, width)}


def reference_step(
    *, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """The layers: `y` [batch, seq_len, hidden], in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        x = _layer(x, {name: tensor[layer] for name, tensor in state.items()}, axes)
    return {"y": x}


def _layer(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads = axes["heads"], axes["kv_heads"]
    dtype = x.dtype
    normed = _rms_norm(x, state["norm_attention"])
    qkv = torch.einsum("bsh,ndh->bsnd", normed, state["w_qkv"].to(dtype))
    q, k, v = torch.split(qkv, [heads, kv_heads, kv_heads], 2)
    attended = reference({}, {"q": _rotate(q), "k": _rotate(k), "v": v}, axes, dtype)["out"]
    x = x + attended.flatten(2) @ state["w_out"].to(dtype).flatten(1).T
    normed = _rms_norm(x, state["norm_mlp"])
    gate = normed @ state["w_gate_up"][0].to(dtype).T
    up = normed @ state["w_gate_up"][1].to(dtype).T
    return x + (torch.nn.functional.silu(gate) * up) @ state["w_down"].to(dtype).T


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight.to(x.dtype)


def _rotate(x: Tensor) -> Tensor:
    """Rotary embedding [.., seq_len, heads, head_dim] in the half-split layout."""
    length, half = x.shape[-3], x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float64)
    position = torch.arange(length, device=x.device, dtype=torch.float64)
    angle = torch.outer(position, ROPE_THETA ** (-steps / half)).unsqueeze(1)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
