"""A Program's baseline and candidate differ in the slot and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernels import catalogue, solutions
from kernels.solutions import Solution
from kernels.trials import draw, poison
from tests.kernels.drawing import candidates_here

# One candidate of each operator, the last: a kernel where one runs here.
CANDIDATES = dict(candidates_here())


class Outside(TorchDispatchMode):
    """Every operation with its sizes that is done outside the slot, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.slots = 0
        self._within = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if not self._within:
            sizes = [tuple(one.shape) for one in args if isinstance(one, torch.Tensor)]
            self.done.append(f"{func} {sizes}")
        return func(*args, **(kwargs or {}))

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, as what is done in the slot."""

        def within(*given: Any) -> Any:
            with self._slot():
                return call(*given)

        return within

    @contextmanager
    def _slot(self) -> Iterator[None]:
        self._within = True
        self.slots += 1
        try:
            yield
        finally:
            self._within = False


def _step(operator: str, solution: Solution) -> tuple[list[str], int]:
    """What the smallest Program does around this Solution, and how often it calls it."""
    what, preset = catalogue.definition(operator), catalogue.presets(operator)["tiny"]
    axes, kind = preset.workloads[0].axes, getattr(torch, preset.dtype)
    torch.manual_seed(11)
    state = draw(what.program_state, axes, kind, "cpu")
    inputs = draw(what.program_inputs, axes, kind, "cpu")
    out = {spec.name: poison(spec, axes, kind, "cpu") for spec in what.program_outputs}
    with torch.no_grad(), Outside() as outside:
        slotted = replace(
            solution, prepare=outside.around(solution.prepare), run=outside.around(solution.run)
        )
        step = solutions.program(operator).Step(solution=slotted, state=state, axes=axes)
        step(inputs, out)
    return outside.done, outside.slots


@pytest.mark.parametrize("operator", catalogue.operators())
def test_what_a_program_does_around_its_slot_is_the_same_for_everybody(operator: str) -> None:
    baseline = catalogue.presets(operator)["tiny"].baseline
    theirs, calls = _step(operator, solutions.baseline(operator, baseline))
    ours, our_calls = _step(operator, solutions.candidate(f"{operator}/{CANDIDATES[operator]}"))
    assert ours == theirs
    assert our_calls == calls >= 2
    assert theirs, "something is done besides the slot"


def test_what_is_done_around_the_slot_is_told_apart_from_it() -> None:
    outside = Outside()
    x = torch.ones(3)
    with outside:
        outside.around(lambda: x + x)()
        assert not outside.done
        x.mul_(2.0)
    assert outside.done == ["aten.mul_.Tensor [(3,)]"]
