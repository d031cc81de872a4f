"""The fusion that torch already has: bias in the product's epilogue, ReLU over it while it is warm.

On a GPU that is one kernel (`torch._addmm_activation`); on the processor two, the second over
blocks of rows that are still in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

# Rows of y that stay in a processor's L2 cache.
CACHE_BYTES = 1 << 20


@dataclass(frozen=True)
class _Prepared:
    w: Tensor  # [hidden, ffn]
    bias: Tensor  # [ffn]
    rows: int


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """The weight as the product reads it, and how many rows go at a time."""
    w = state["w"].T
    row_bytes = w.shape[1] * w.element_size()
    return _Prepared(w=w, bias=state["bias"], rows=max(1, CACHE_BYTES // row_bytes))


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One call; writes all of out["y"] [batch, ffn]."""
    x, y = inputs["x"], out["y"]
    if x.device.type == "cuda":
        torch._addmm_activation(prepared.bias, x, prepared.w, out=y)
        return
    for part_x, part_y in zip(x.split(prepared.rows), y.split(prepared.rows), strict=True):
        torch.addmm(prepared.bias, part_x, prepared.w, out=part_y)
        part_y.relu_()


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The ReLU lets through where its result is above zero; the rest is the layer's."""
    through = grads["y"] * (out["y"] > 0)
    return {"x": through @ state["w"], "w": through.T @ inputs["x"], "bias": through.sum(0)}
