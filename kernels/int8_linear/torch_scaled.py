"""The linear layer in plain torch: the int8 weights cast in every call, the scales last.

Right and not fast: a cast copy of the weights goes through memory. For the processor, and to hold
kernels against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [in_features, out_features] int8
    scale: Tensor  # [out_features]


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """The weights as they are, turned."""
    return _Prepared(weight=state["weight"].T, scale=state["scale"])


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, out_features]."""
    x, result = inputs["x"], out["out"]
    torch.mm(x, prepared.weight.to(x.dtype), out=result)
    result.mul_(prepared.scale)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """For the activations, as adapters on frozen int8 weights are trained."""
    scaled = grads["out"] * state["scale"]
    return {"x": scaled @ state["weight"].to(scaled.dtype)}
