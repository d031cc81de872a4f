"""The operator in plain torch, with one float32 copy of the sum worked on in place."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

EPS = 1e-5
LEAST_TOP = 1e-10
MOST = 448.0


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """The norm's weights in float32."""
    return state["weight"].float()


def run(weight: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["q"] and out["sum"] [tokens, hidden] and out["scale"] [tokens]."""
    kept, scale = out["sum"], out["scale"]
    torch.add(inputs["x"], inputs["residual"], out=kept)
    normed = kept.to(torch.float32, copy=True)
    mean = torch.linalg.vector_norm(normed, 2, -1, keepdim=True).square_().div_(normed.shape[1])
    normed.mul_(mean.add_(EPS).rsqrt_()).mul_(weight)
    scale.copy_(torch.linalg.vector_norm(normed, float("inf"), -1))
    scale.clamp_(min=LEAST_TOP).div_(MOST)
    out["q"].copy_(normed.div_(scale[:, None]).clamp_(-MOST, MOST))
