"""The quantisation in plain torch, with one float32 copy of the input worked on in place."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

LEAST_TOP = 1e-10
MOST = 127.0


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """There is no state to lay out."""


def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["q"] [tokens, hidden] and out["scale"] [tokens]."""
    x, scale = inputs["x"], out["scale"]
    scale.copy_(torch.linalg.vector_norm(x, float("inf"), -1, dtype=torch.float32))
    scale.clamp_(min=LEAST_TOP).div_(MOST)
    out["q"].copy_(x.to(torch.float32, copy=True).div_(scale[:, None]).round_())
