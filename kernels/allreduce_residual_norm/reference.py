"""What the operator and its Program should give, over whole tensors [ranks, …]."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

EPS = 1e-5


def _summed(x: Tensor, residual: Tensor) -> Tensor:
    """The sum over ranks and residual, rounded once."""
    return (x.double().sum(0) + residual.double()).to(residual.dtype)


def _normed(kept: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    wide = kept.to(dtype)
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
    return wide * inverse * weight.to(dtype)


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`normed` and `sum`, [ranks, tokens, hidden]: the same on every rank."""
    kept = _summed(inputs["x"], inputs["residual"])
    normed = _normed(kept, state["weight"], dtype)
    ranks = len(inputs["x"])
    return {
        "normed": normed.expand(ranks, *normed.shape),
        "sum": kept.to(dtype).expand(ranks, *kept.shape),
    }


def reference_step(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float32,
) -> dict[str, Tensor]:
    """The step in float32; the stream is rounded to its dtype, as every step keeps it."""
    x, kept = inputs["x"].to(dtype), inputs["residual"]
    for layer in range(axes["layers"]):
        kept = _summed(x, kept)
        normed = _normed(kept, state["norm"][layer], dtype)
        parts = []
        for up_weights, down_weights in zip(state["w_gate_up"], state["w_down"], strict=True):
            gate, up = up_weights[layer].to(dtype)
            hidden = F.silu(normed @ gate.T) * (normed @ up.T)
            parts.append(hidden @ down_weights[layer].to(dtype).T)
        x = torch.stack(parts)
    return {"y": x, "stream": kept.to(dtype).expand(len(x), *kept.shape)}
