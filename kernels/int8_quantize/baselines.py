"""What one gets off the shelf: the formula in torch, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

LEAST_TOP = 1e-10
MOST = 127.0


def _quantise(x: Tensor, q: Tensor, scale: Tensor) -> None:
    wide = x.float()
    scale.copy_(wide.abs().amax(-1).clamp(min=LEAST_TOP) / MOST)
    q.copy_(torch.round(wide / scale[:, None]))


def _nothing(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """There is no state to lay out."""


def eager() -> Solution:
    """Operation by operation: the row is read and written six times, mostly in float32."""

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        _quantise(inputs["x"], out["q"], out["scale"])

    return Solution(name="eager", prepare=_nothing, run=run)


def compiled() -> Solution:
    """The same as torch.compile makes it: on a GPU a Triton kernel."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")
    quantise = torch.compile(_quantise, dynamic=False)

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        quantise(inputs["x"], out["q"], out["scale"])

    return Solution(name="compiled", prepare=_nothing, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {"eager": eager, "compiled": compiled}
