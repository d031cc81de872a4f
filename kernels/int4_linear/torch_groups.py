"""The linear layer in plain torch: the weights cast in every call, the scales with a group's sum.

Right and not fast: a cast copy of the weights passes through memory. For the processor, and to
compare kernels with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

GROUP = 128
ZERO = 8


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [groups, GROUP, out_features] int8, from -8 to 7
    scale: Tensor  # [groups, 1, out_features]


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """The weights by groups, with their sign."""
    signed = state["weight"].to(torch.int8) - ZERO
    return _Prepared(
        weight=signed.T.unflatten(0, (-1, GROUP)), scale=state["scale"].T[:, None].float()
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, out_features]."""
    x = inputs["x"].float().unflatten(1, (-1, GROUP)).transpose(0, 1)
    sums = torch.bmm(x, prepared.weight.float())
    out["out"].copy_(sums.mul_(prepared.scale).sum(0))


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """For the activations, as adapters on frozen 4-bit weights are trained."""
    scale = state["scale"]
    grouped = (state["weight"].to(scale.dtype) - ZERO).unflatten(1, (-1, GROUP))
    return {"x": grads["out"] @ (grouped * scale[:, :, None]).flatten(1)}
