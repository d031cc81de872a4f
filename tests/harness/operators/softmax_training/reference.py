"""Both passes in double precision; the gradient by torch's own differentiation."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def reference(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """`y` [rows, columns] in fp64."""
    return {"y": torch.softmax(inputs["x"].double() + state["bias"].double(), -1)}


def reference_step(
    *, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """`y` and `grad_x`, both [rows, columns] in fp64."""
    with torch.enable_grad():
        x = inputs["x"].double().requires_grad_()
        y = torch.softmax(x + state["bias"].double(), -1)
        (grad_x,) = torch.autograd.grad(y, x, inputs["grad_y"].double())
    return {"y": y.detach(), "grad_x": grad_x}
