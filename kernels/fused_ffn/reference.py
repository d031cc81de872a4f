"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype | None = None,
) -> dict[str, Tensor]:
    """The network: `out` [tokens, hidden], in fp64 on the processor and fp32 on a GPU."""
    dtype = dtype or _higher(inputs["x"])
    x = inputs["x"].to(dtype)
    gate, up = (x @ half.to(dtype).T for half in state["w_gate_up"])
    return {"out": (F.silu(gate) * up) @ state["w_down"].to(dtype).T}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The layers: `y` [tokens, hidden], in fp64 on the processor and fp32 on a GPU."""
    x = inputs["x"].to(_higher(inputs["x"]))
    for layer in range(axes["layers"]):
        own = {name: tensor[layer] for name, tensor in state.items()}
        x = x + _attended(_rms_norm(x, own["norm_attention"]), own, axes)
        normed = {"x": _rms_norm(x, own["norm_mlp"])}
        x = x + reference(own, normed, axes, x.dtype)["out"]
    return {"y": x}


def _attended(x: Tensor, state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    heads, kv_heads = axes["heads"], (axes["qkv_heads"] - axes["heads"]) // 2
    qkv = torch.einsum("th,ndh->ntd", x, state["w_qkv"].to(x.dtype))
    q, k, v = qkv.split([heads, kv_heads, kv_heads])
    k, v = (part.repeat_interleave(heads // kv_heads, 0) for part in (_rotate(k), v))
    score = _rotate(q) @ k.mT * axes["head_dim"] ** -0.5
    later = torch.ones_like(score[0], dtype=torch.bool).triu(1)
    given = score.masked_fill(later, float("-inf")).softmax(-1) @ v
    return torch.einsum("ntd,hnd->th", given, state["w_out"].to(x.dtype))


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
