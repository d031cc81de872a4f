"""Decoding steps: right with an honest solution in the slot, visibly wrong with a careless one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.solutions import Solution
from kernels.trials import compare, draw
from tests.kernels.drawing import poisoned

OPERATORS = ("fp8_block_linear", "gated_delta_decode", "mla_decode", "paged_decode")


def _is_right(operator: str, solution: Solution, dtype: str) -> bool:
    torch.manual_seed(3)
    what, kind = catalogue.definition(operator), getattr(torch, dtype)
    axes = catalogue.presets(operator)["tiny"].workloads[0].axes
    state = draw(what.program_state, axes, kind, "cpu")
    inputs = draw(what.program_inputs, axes, kind, "cpu")
    out = poisoned(what.program_outputs, axes, kind)
    solutions.program(operator).Step(solution=solution, state=state, axes=axes)(inputs, out)
    expected = solutions.reference(operator).reference_step(state=state, inputs=inputs, axes=axes)
    return all(
        compare(out[name], tensor, what.tolerances[dtype])[0] for name, tensor in expected.items()
    )


def _honest(operator: str) -> Solution:
    return solutions.named(operator, catalogue.presets(operator)["tiny"].candidate)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_step_with_an_honest_solution_agrees_with_the_reference(
    operator: str, dtype: str
) -> None:
    assert _is_right(operator, _honest(operator), dtype)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_missing_result_shows_in_the_step(operator: str) -> None:
    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        for tensor in out.values():
            tensor.zero_()

    assert not _is_right(operator, replace(_honest(operator), run=run), "bfloat16")


@pytest.mark.parametrize("operator", ["mla_decode", "paged_decode"])
def test_a_missing_page_shows_in_the_step(operator: str) -> None:
    honest = _honest(operator)

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        honest.run(prepared, {**inputs, "last": (inputs["last"] - 64).clamp(min=0)}, out)

    assert not _is_right(operator, replace(honest, run=run), "bfloat16")


def test_weights_of_another_block_show_in_the_step() -> None:
    honest = _honest("fp8_block_linear")

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> object:
        return honest.prepare({**state, "scale": state["scale"].roll(1, 1)}, axes)

    assert not _is_right("fp8_block_linear", replace(honest, prepare=prepare), "bfloat16")


def test_a_memory_without_decay_shows_in_the_step() -> None:
    honest = _honest("gated_delta_decode")

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        honest.run(prepared, {**inputs, "a": torch.full_like(inputs["a"], -30.0)}, out)

    assert not _is_right("gated_delta_decode", replace(honest, run=run), "bfloat16")
