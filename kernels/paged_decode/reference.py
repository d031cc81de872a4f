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
    """`out` [batch, heads, head_dim]: one sequence after the other, one softmax over its tokens."""
    rows = []
    for sequence, last in enumerate(inputs["last"].tolist()):
        tokens = torch.arange(last + 1, device=inputs["q"].device)
        page = inputs["page_table"][sequence][tokens // state["cache_k"].shape[2]].long()
        slot = tokens % state["cache_k"].shape[2]
        k, v = (
            torch.cat(
                [
                    # Indexed as bytes: not every device indexes FP8.
                    _at(state[f"cache_{name}"], page, slot).to(dtype)
                    * state[f"{name}_scale"].to(dtype)[:, None],
                    inputs[f"{name}_new"][sequence, None].to(dtype),
                ]
            ).transpose(0, 1)
            for name in ("k", "v")
        )
        q = inputs["q"][sequence].to(dtype).unflatten(0, (len(k), -1))
        share = torch.softmax(q @ k.transpose(1, 2) * q.shape[-1] ** -0.5, -1)
        rows.append((share @ v).flatten(0, 1))
    return {"out": torch.stack(rows)}


def _at(pool: Tensor, page: Tensor, slot: Tensor) -> Tensor:
    """Tokens [count, kv_heads, head_dim] of a pool."""
    return pool.view(torch.uint8)[page, :, slot].view(pool.dtype)


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
        x = _layer(x, {name: tensor[layer] for name, tensor in state.items()}, inputs, axes)
    return {"y": x}


def _layer(
    x: Tensor, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> Tensor:
    heads, kv_heads = axes["heads"], axes["kv_heads"]
    dtype = x.dtype
    normed = _rms_norm(x, state["norm_attention"])
    qkv = torch.einsum("bh,ndh->bnd", normed, state["w_qkv"].to(dtype))
    q, k_new, v_new = torch.split(qkv, [heads, kv_heads, kv_heads], 1)
    position = inputs["last"] + 1
    token = {
        **inputs,
        "q": _rotate(q, position),
        "k_new": _rotate(k_new, position),
        "v_new": v_new,
    }
    attended = reference(state, token, axes, dtype)["out"]
    x = x + attended.flatten(1) @ state["w_out"].to(dtype).flatten(1).T
    normed = _rms_norm(x, state["norm_mlp"])
    gate, up = (normed @ state["w_gate_up"][part].to(dtype).T for part in (0, 1))
    return x + (torch.nn.functional.silu(gate) * up) @ state["w_down"].to(dtype).T


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight.to(x.dtype)


def _rotate(x: Tensor, position: Tensor) -> Tensor:
    """Rotary embedding of [batch, heads, head_dim] in the half-split layout of Llama."""
    half = x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float64)
    angle = (position.double()[:, None, None] * ROPE_THETA ** (-steps / half)).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
