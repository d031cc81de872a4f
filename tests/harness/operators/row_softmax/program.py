"""The Program of this operator is the operator itself."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from kernels.solutions import Solution


class Step:
    """One call of the solution."""

    def __init__(
        self, *, solution: Solution, state: Mapping[str, Tensor], axes: Mapping[str, int]
    ) -> None:
        self._solution = solution
        self._prepared = solution.prepare(state, axes)

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        self._solution.run(self._prepared, inputs, out)
