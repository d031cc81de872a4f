"""What one gets off the shelf: torch's own addition, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


def torch_add() -> Solution:
    """torch.add, written straight into the output."""

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.add(inputs["x"], inputs["y"], out=out["out"])

    return Solution(name="torch_add", prepare=_nothing, run=run)


def compiled() -> Solution:
    """`x + y` as torch.compile makes it: on a GPU a Triton kernel."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")

    @torch.compile(dynamic=False)
    def add(x: Tensor, y: Tensor, out: Tensor) -> None:
        out.copy_(x + y)

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        add(inputs["x"], inputs["y"], out["out"])

    return Solution(name="compiled", prepare=_nothing, run=run)


def _nothing(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """There is no state to lay out."""


BASELINES: dict[str, Callable[[], Solution]] = {"torch_add": torch_add, "compiled": compiled}
