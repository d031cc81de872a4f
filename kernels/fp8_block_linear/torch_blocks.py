"""The product in plain torch, one block of 128 inputs after the other, summed in float32."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

BLOCK = 128


def run(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    """Writes out["out"] [batch, out_features]."""
    scale = state["scale"].repeat_interleave(BLOCK, 0)
    acc = torch.zeros(out["out"].shape, dtype=torch.float32, device=out["out"].device)
    for block in range(scale.shape[1]):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        x = inputs["x"][:, part].float() * inputs["x_scale"][:, block, None]
        acc += x @ (state["weight"][:, part].float() * scale[:, block, None]).T
    out["out"].copy_(acc)
