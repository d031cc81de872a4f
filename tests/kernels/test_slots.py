"""A Program's baseline and candidate differ in the slot and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.harness.sides.operators import slots
from kernels import catalogue, solutions
from kernels.solutions import Solution
from kernels.trials import draw, poison
from tests.kernels.drawing import candidates_here

# One candidate of each operator. Triton's would be interpreted, which takes ten times as long.
CANDIDATES = {op: name for op, name in candidates_here() if name.startswith("torch_")}


class Outside(TorchDispatchMode):
    """Records every operation outside the slot, with its sizes, in order."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler only to exclude this class from it.
        return False

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.slots = 0
        self._within = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if not self._within:
            sizes = [tuple(one.shape) for one in args if isinstance(one, torch.Tensor)]
            self.operations.append(f"{func} {sizes}")
        return func(*args, **(kwargs or {}))

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, marked as inside the slot."""

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
    """The smallest Program's operations around this Solution, and the number of its calls."""
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
    return outside.operations, outside.slots


@pytest.mark.parametrize("operator", catalogue.operators_of_one_rank())
def test_a_program_does_the_same_around_every_solution(operator: str) -> None:
    baseline = catalogue.presets(operator)["tiny"].baseline
    theirs, calls = _step(operator, solutions.baseline(operator, baseline))
    ours, our_calls = _step(operator, solutions.candidate(f"{operator}/{CANDIDATES[operator]}"))
    assert ours == theirs
    assert our_calls == calls >= 2
    assert theirs, "the Program does nothing besides the slot"


@pytest.mark.parametrize("operator", catalogue.operators_of_one_rank())
def test_the_declared_calls_are_those_of_a_step_with_their_shapes(operator: str) -> None:
    what, preset = catalogue.definition(operator), catalogue.presets(operator)["tiny"]
    axes, kind = preset.workloads[0].axes, getattr(torch, preset.dtype)
    baseline = solutions.baseline(operator, preset.baseline)
    seen: Counter[Any] = Counter()

    def run(prepared: Any, inputs: Any, out: Any) -> None:
        given = {**inputs, **out}
        seen[frozenset((name, tuple(tensor.shape)) for name, tensor in given.items())] += 1
        baseline.run(prepared, inputs, out)

    state = draw(what.program_state, axes, kind, "cpu")
    inputs = draw(what.program_inputs, axes, kind, "cpu")
    out = {spec.name: poison(spec, axes, kind, "cpu") for spec in what.program_outputs}
    step = solutions.program(operator).Step(
        solution=replace(baseline, run=run), state=state, axes=axes
    )
    step(inputs, out)
    declared: Counter[Any] = Counter()
    for slot in slots(operator, axes):
        specs = (*what.inputs, *what.outputs)
        declared[frozenset((spec.name, spec.sizes(slot.axes)) for spec in specs)] += slot.calls
    assert seen == declared


def test_operations_inside_the_slot_are_not_recorded() -> None:
    outside = Outside()
    x = torch.ones(3)
    with outside:
        outside.around(lambda: x + x)()
        assert not outside.operations
        x.mul_(2.0)
    assert outside.operations == ["aten.mul_.Tensor [(3,)]"]
