"""The product, `baseline_units` times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.solutions import Solution


def _prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
    return state["w"], axes["baseline_units"]


def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Compute a product for every unit; the last one, which stays, is with w[0]."""
    w, units = prepared
    x, y = inputs["x"], out["y"]
    for unit in reversed(range(units)):
        torch.mm(x, w[unit % len(w)], out=y)


BASELINES = {"units": lambda: Solution(name="units", prepare=_prepare, run=run)}
