"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

NORM_EPS = 1e-5


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`c` [batch, m, n]."""
    return {"c": inputs["a"].to(dtype) @ state["b"].to(dtype)}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The MLP: `y` [batch, m, k], in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS)
    normed = normed * state["norm"].to(dtype).unsqueeze(1)
    up = reference({"b": state["w_up"]}, {"a": normed}, axes, dtype)["c"]
    return {"y": x + torch.relu(up).square() @ state["w_down"].to(dtype)}
