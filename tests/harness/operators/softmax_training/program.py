"""One training step: the solution's forward pass, then its `gradients`."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from kernels.solutions import Solution


class Step:
    """Forward and backward of one call."""

    def __init__(
        self, *, solution: Solution, state: Mapping[str, Tensor], axes: Mapping[str, int]
    ) -> None:
        if solution.gradients is None:
            raise ValueError("this Program trains, and the solution has no `gradients`")
        self._gradients = solution.gradients
        self._solution, self._state, self._axes = solution, state, axes
        self._prepared = solution.prepare(state, axes)

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        forward, made = {"x": inputs["x"]}, {"y": out["y"]}
        self._solution.run(self._prepared, forward, made)
        found = self._gradients(self._state, forward, made, {"y": inputs["grad_y"]}, self._axes)
        out["grad_x"].copy_(found["x"])
