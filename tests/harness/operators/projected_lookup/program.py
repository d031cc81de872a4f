"""The lookup, then a product with one weight."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.solutions import Solution


def project(x: Tensor, weight: Tensor, out: Tensor, scale: float = 1.0) -> None:
    """`out` = scale * x @ weight."""
    torch.mm(x, weight, out=out)
    out.mul_(scale)


class Step:
    """One lookup by the solution, one projection."""

    def __init__(
        self, *, solution: Solution, state: Mapping[str, Tensor], axes: Mapping[str, int]
    ) -> None:
        self._run = solution.run
        self._prepared = solution.prepare({"table": state["table"]}, axes)
        self._weight = state["weight"]
        self._rows = state["table"].new_empty(axes["tokens"], axes["hidden"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        self._run(self._prepared, {"ids": inputs["ids"]}, {"out": self._rows})
        project(self._rows, self._weight, out["y"])
