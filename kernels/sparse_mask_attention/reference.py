"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5


def allowed(keep: Tensor, axes: Mapping[str, int]) -> Tensor:
    """Which block of queries sees which block of keys, [blocks, blocks]: the mask's whole rule."""
    place = torch.arange(keep.shape[0], device=keep.device)
    distance = place[:, None] - place[None, :]
    near = distance < axes["window_blocks"]
    first = (place < axes["global_blocks"])[None, :]
    return (distance >= 0) & (near | first | (100 * keep < axes["kept_percent"]))


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """Masked softmax attention over all keys: `out` [batch, blocks, block, heads, head_dim].

    A block of queries at a time, over every key up to its own block.
    """
    shape = inputs["q"].shape
    _, blocks, block, heads, width = shape
    seen = allowed(state["keep"], axes)
    group = heads // inputs["k"].shape[3]
    q = inputs["q"].to(dtype).unflatten(3, (-1, group)) * width**-0.5
    k, v = (inputs[name].to(dtype).flatten(1, 2) for name in ("k", "v"))
    within = torch.ones(block, block, dtype=torch.bool, device=q.device).tril()
    pieces = []
    for place in range(blocks):
        end = (place + 1) * block
        rule = seen[place, : place + 1].repeat_interleave(block).repeat(block, 1)
        rule[:, -block:] &= within
        scores = torch.einsum("bqkgd,bpkd->bkgqp", q[:, place], k[:, :end])
        share = torch.softmax(scores.masked_fill(~rule, float("-inf")), -1)
        pieces.append(torch.einsum("bkgqp,bpkd->bqkgd", share, v[:, :end]))
    return {"out": torch.stack(pieces, 1).reshape(shape)}


def reference_step(
    *, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """The layers: `y` as `x`, in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        own = {name: tensor[layer] for name, tensor in state.items() if name != "keep"}
        x = _layer(x, {**own, "keep": state["keep"]}, axes)
    return {"y": x}


def _layer(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads = axes["heads"], axes["kv_heads"]
    dtype = x.dtype
    normed = _rms_norm(x, state["norm_attention"])
    qkv = torch.einsum("bcsh,ndh->bcsnd", normed, state["w_qkv"].to(dtype))
    q, k, v = torch.split(qkv, [heads, kv_heads, kv_heads], 3)
    attended = reference(state, {"q": _rotate(q), "k": _rotate(k), "v": v}, axes, dtype)["out"]
    x = x + attended.flatten(3) @ state["w_out"].to(dtype).flatten(1).T
    normed = _rms_norm(x, state["norm_mlp"])
    gate = normed @ state["w_gate_up"][0].to(dtype).T
    up = normed @ state["w_gate_up"][1].to(dtype).T
    return x + (torch.nn.functional.silu(gate) * up) @ state["w_down"].to(dtype).T


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight.to(x.dtype)


def _rotate(x: Tensor) -> Tensor:
    """Rotary embedding [batch, blocks, block, heads, head_dim] in the half-split layout."""
    blocks, block, half = x.shape[1], x.shape[2], x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float64)
    position = torch.arange(blocks * block, device=x.device, dtype=torch.float64)
    angle = torch.outer(position, ROPE_THETA ** (-steps / half)).view(blocks, block, 1, half)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
