"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5
# Queries scored at a time: bounds the score matrix, changes nothing in the result.
QUERIES_AT_ONCE = 256


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """Softmax attention over the keys up to each query: `out` [batch, seq_len, heads, head_dim].

    Every row's scores stand side by side before its softmax: nothing is rescaled on the way.
    """
    batch, length, heads, width = inputs["q"].shape
    group = heads // inputs["k"].shape[2]
    q = inputs["q"].to(dtype).unflatten(2, (-1, group)) * width**-0.5
    k, v = inputs["k"].to(dtype), inputs["v"].to(dtype)
    position = torch.arange(length, device=q.device)
    pieces = []
    for begin in range(0, length, QUERIES_AT_ONCE):
        end = min(begin + QUERIES_AT_ONCE, length)
        later = position[:end] > position[begin:end, None]
        scores = torch.einsum("bqkgd,bpkd->bkgqp", q[:, begin:end], k[:, :end])
        share = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        pieces.append(torch.einsum("bkgqp,bpkd->bqkgd", share, v[:, :end]))
    return {"out": torch.cat(pieces, 1).reshape(batch, length, heads, width)}


def reference_step(
    *, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """The blocks: `y` [batch, seq_len, hidden], in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        x = _block(x, {name: tensor[layer] for name, tensor in state.items()}, axes)
    return {"y": x}


def _block(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads = axes["heads"], axes["kv_heads"]
    dtype = x.dtype
    normed = _rms_norm(x, state["norm_attention"])
    qkv = torch.einsum("bsh,ndh->bsnd", normed, state["w_qkv"].to(dtype))
    q, k, v = torch.split(qkv, [heads, kv_heads, kv_heads], 2)
    attended = reference({}, {"q": _rotate(q), "k": _rotate(k), "v": v}, axes, dtype)["out"]
    return x + attended.flatten(2) @ state["w_out"].to(dtype).flatten(1).T


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
