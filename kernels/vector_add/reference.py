"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`out` [length]: the sum of `x` and `y`."""
    return {"out": inputs["x"].to(dtype) + inputs["y"].to(dtype)}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """`total` [length]: the newest gradient and the earlier ones, added in float64."""
    return {"total": inputs["gradient"].double() + state["earlier"].double().sum(0)}
