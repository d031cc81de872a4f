"""What the operator and its Program should give, to the last bit of float32."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

LEAST_TOP = 1e-10
MOST = 127.0


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`q` [tokens, hidden] as whole numbers and `scale` [tokens].

    In float32 whatever `dtype` is: both roundings are part of the Definition.
    """
    x = inputs["x"].float()
    top = x.abs().amax(-1).clamp(min=LEAST_TOP)
    # By a tensor: on a GPU torch makes of a division by a number a product with its inverse.
    scale = top / torch.full_like(top, MOST)
    return {"q": torch.round(x / scale[:, None]).to(dtype), "scale": scale}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """`y` [tokens, out_features]: the product of whole numbers, exact in float64, scaled."""
    quantised = reference({}, inputs, axes)
    product = quantised["q"] @ state["weight"].double().T
    scales = quantised["scale"].double()[:, None] * state["weight_scale"].double()
    return {"y": product * scales}
