"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

UNIT_EPS, NORM_EPS = 1e-6, 1e-6


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`out` [batch, heads, value_dim] and `memory_next` [batch, heads, key_dim, value_dim]."""
    q, k, v, a, b, memory = (inputs[name].to(dtype) for name in ("q", "k", "v", "a", "b", "memory"))
    group = v.shape[1] // k.shape[1]
    q, k = (_unit(tensor).repeat_interleave(group, 1) for tensor in (q, k))
    rate = state["a_log"].to(dtype).exp() * F.softplus(a + state["dt_bias"].to(dtype))
    memory = memory * torch.exp(-rate)[..., None, None]
    missing = v - torch.einsum("bhkv,bhk->bhv", memory, k)
    update = torch.sigmoid(b)[..., None] * missing
    memory = memory + k[..., None] * update[:, :, None]
    out = torch.einsum("bhkv,bhk->bhv", memory, q) * k.shape[-1] ** -0.5
    return {"out": out, "memory_next": memory}


def _unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + UNIT_EPS)


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """`y` [batch, hidden] and `memory_next`, in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    projected = _rms_norm(x, state["norm"]) @ state["w_in"].to(dtype).T
    heads, key_heads = axes["heads"], axes["key_heads"]
    keys, values = key_heads * axes["key_dim"], heads * axes["value_dim"]
    q, k, v, z, a, b = projected.split([keys, keys, values, values, heads, heads], 1)
    made = reference(
        state,
        {
            "q": q.unflatten(1, (key_heads, -1)),
            "k": k.unflatten(1, (key_heads, -1)),
            "v": v.unflatten(1, (heads, -1)),
            "a": a,
            "b": b,
            "memory": inputs["memory"],
        },
        axes,
        dtype,
    )
    gated = _rms_norm(made["out"], state["norm_out"]) * F.silu(z.unflatten(1, (heads, -1)))
    y = x + gated.flatten(1) @ state["w_out"].to(dtype).flatten(1).T
    return {"y": y, "memory_next": made["memory_next"]}


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight.to(x.dtype)
