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
    """Attention over prefix, own tokens and the new one: `out` [batch, heads, head_dim].

    One softmax over all keys laid end to end; nothing is merged, so a mistake in merging
    cannot hide here.
    """
    batch, kv_heads, width = axes["batch"], axes["kv_heads"], axes["head_dim"]
    prefix_len = axes["prefix_len"]
    q = inputs["q"].to(dtype).reshape(batch, kv_heads, -1, width) * width**-0.5
    own_k = torch.cat([state["own_k"], inputs["k_new"].unsqueeze(2)], 2).to(dtype)
    own_v = torch.cat([state["own_v"], inputs["v_new"].unsqueeze(2)], 2).to(dtype)
    scores = torch.cat(
        [
            torch.einsum("bkgd,kpd->bkgp", q, state["prefix_k"].to(dtype)),
            torch.einsum("bkgd,bkod->bkgo", q, own_k),
        ],
        -1,
    )
    share = torch.softmax(scores, -1)
    out = torch.einsum("bkgp,kpd->bkgd", share[..., :prefix_len], state["prefix_v"].to(dtype))
    out += torch.einsum("bkgo,bkod->bkgd", share[..., prefix_len:], own_v)
    return {"out": out.reshape(batch, -1, width)}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The decode step: `y` [batch, hidden], in fp64 on the processor and fp32 on a GPU.

    Layers are raised to the higher precision one at a time, so that the copy stays small.
    """
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        own = {name: tensor[layer] for name, tensor in state.items()}
        x = _layer(x, own, axes)
    return {"y": x}


def _layer(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads, width = axes["heads"], axes["kv_heads"], axes["head_dim"]
    dtype = x.dtype
    normed = _rms_norm(x, state["norm_attention"])
    qkv = torch.einsum("bh,ndh->bnd", normed, state["w_qkv"].to(dtype))
    q, k_new, v_new = torch.split(qkv, [heads, kv_heads, kv_heads], 1)
    position = axes["prefix_len"] + axes["own_len"]
    token = {
        "q": _rotate(q, position),
        "k_new": _rotate(k_new, position),
        "v_new": v_new,
    }
    attended = reference(state, token, axes, dtype)["out"]
    x = x + attended.reshape(x.shape[0], heads * width) @ state["w_out"].to(dtype).flatten(1).T
    normed = _rms_norm(x, state["norm_mlp"])
    gate = normed @ state["w_gate_up"][0].to(dtype).T
    up = normed @ state["w_gate_up"][1].to(dtype).T
    return x + (torch.nn.functional.silu(gate) * up) @ state["w_down"].to(dtype).T


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
