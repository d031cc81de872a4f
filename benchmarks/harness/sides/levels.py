"""The levels of measurement: the Program with the operator, the operator alone, and the rest."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
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


class RestOfStep:
    """A Program's Step whose operator runs in the first call only; later its results are old ones.

    For the time of everything around the slot.
    """

    def __init__(
        self,
        build: Build,
        *,
        solution: Solution,
        state: Tensors,
        axes: Mapping[str, int],
    ) -> None:
        self._operator, self._fills = solution.run, True
        slot = replace(solution, run=self._run)
        self._step = build(solution=slot, state=state, axes=axes)

    def _run(self, prepared: Any, inputs: Tensors, out: Tensors) -> None:
        if self._fills:
            self._operator(prepared, inputs, out)

    def __call__(self, inputs: Tensors, out: Tensors) -> None:
        """Queue one call on the current stream."""
        self._step(inputs, out)
        self._fills = False


def specs(definition: Mapping[str, Any], level: str, part: str) -> list[dict[str, Any]]:
    """The specs of a level's "state", "inputs" or "outputs"."""
    found: list[dict[str, Any]] = definition[part if level == "operator" else f"program_{part}"]
    return found


def builders(program: ModuleType) -> dict[str, Build]:
    """The builder of each level's step: "operator", "program" or "rest"."""
    return {
        "operator": OperatorStep,
        "program": program.Step,
        "rest": partial(RestOfStep, program.Step),
    }
