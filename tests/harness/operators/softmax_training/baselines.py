"""Softmax and its backward pass as torch has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.solutions import Solution


def _prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
    return state["bias"]


def _run(prepared: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    torch.softmax(inputs["x"] + prepared, -1, out=out["y"])


def _gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    y, grad = out["y"], grads["y"]
    return {"x": y * (grad - (grad * y).sum(-1, keepdim=True))}


BASELINES = {
    "plain": lambda: Solution(name="plain", prepare=_prepare, run=_run, gradients=_gradients)
}
