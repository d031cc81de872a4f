"""A projection with int8 weights and int8 activations, with the operator in its slot."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.solutions import Solution

# torch's int8 product takes no fewer rows.
_LEAST_ROWS = 32


class Step:
    """`x` [tokens, hidden] quantised, multiplied with int8 weights and scaled back to `y`.

    A call synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._prepared = solution.prepare({}, axes)
        self._weight = state["weight"].T
        self._weight_scale = state["weight_scale"]
        tokens, rows = axes["tokens"], max(_LEAST_ROWS, axes["tokens"])
        self._rows = state["weight"].new_zeros(rows, axes["hidden"])
        self._quantised = {
            "q": self._rows[:tokens],
            "scale": state["weight_scale"].new_empty(tokens),
        }

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        self._run(self._prepared, {"x": inputs["x"]}, self._quantised)
        scale = self._quantised["scale"]
        product = torch._int_mm(self._rows, self._weight)[: len(scale)]
        torch.mul(product * scale[:, None], self._weight_scale, out=out["y"])
