"""The two levels of measurement: the Program with the operator, and the operator alone."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from kernels.solutions import Solution

Tensors = Mapping[str, torch.Tensor]
Build = Callable[..., Callable[[Tensors, Tensors], None]]


class OperatorStep:
    """A single operator call with the interface of a Program's Step."""

    def __init__(self, *, solution: Solution, state: Tensors, axes: Mapping[str, int]) -> None:
        self._run = solution.run
        self._prepared: Any = solution.prepare(state, axes)

    def __call__(self, inputs: Tensors, out: Tensors) -> None:
        """Queue one call on the current stream."""
        self._run(self._prepared, inputs, out)


def specs(definition: Mapping[str, Any], level: str, part: str) -> list[dict[str, Any]]:
    """The specs of a level's "state", "inputs" or "outputs"."""
    found: list[dict[str, Any]] = definition[part if level == "operator" else f"program_{part}"]
    return found


def builders(program: ModuleType) -> dict[str, Build]:
    """The builder of each level's step: "operator" or "program"."""
    return {"operator": OperatorStep, "program": program.Step}
