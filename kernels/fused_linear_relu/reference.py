"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

NORM_EPS = 1e-5


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`y` [batch, ffn]."""
    summed = inputs["x"].to(dtype) @ state["w"].to(dtype).T + state["bias"].to(dtype)
    return {"y": torch.relu(summed)}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The MLPs: `y` [batch, hidden], in fp64 on the processor and fp32 on a GPU.

    Layers are raised to the higher precision one at a time, so that the copy stays small.
    """
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    x = inputs["x"].to(dtype)
    for layer in range(axes["layers"]):
        own = {name: tensor[layer].to(dtype) for name, tensor in state.items()}
        normed = F.layer_norm(x, (axes["hidden"],), own["norm"], own["norm_bias"], NORM_EPS)
        weights = {"w": own["w_up"], "bias": own["bias_up"]}
        up = reference(weights, {"x": normed}, axes, dtype)["y"]
        x = x + up @ own["w_down"].T + own["bias_down"]
    return {"y": x}
