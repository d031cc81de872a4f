"""The Programs: right with an honest Solution in the slot, visibly wrong with a careless one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Workload
from kernels.solutions import Solution
from kernels.trials import compare
from tests.kernels.shapes import SHARED, SIZES, WINDOWED, draw, poisoned

OPERATORS = (SHARED, WINDOWED)


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(11)


def _verdict(operator: str, axes: dict, solution: Solution, dtype: str) -> tuple[bool, str]:
    what, kind = catalogue.definition(operator), getattr(torch, dtype)
    state = draw(what.program_state, axes, kind)
    inputs = draw(what.program_inputs, axes, kind)
    out = poisoned(what.program_outputs, axes, kind)
    step = solutions.program(operator).Step(solution=solution, state=state, axes=axes)
    step(inputs, out)
    expected = solutions.reference(operator).reference_step(state=state, inputs=inputs, axes=axes)
    return compare(out["y"], expected["y"], what.tolerances[dtype])


def _tiny(operator: str) -> Workload:
    return catalogue.presets(operator)["tiny"].workloads[0]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_step_with_the_baseline_agrees_with_the_reference(operator: str, dtype: str) -> None:
    baseline = solutions.baseline(operator, catalogue.presets(operator)["tiny"].baseline)
    right, words = _verdict(operator, dict(_tiny(operator).axes), baseline, dtype)
    assert right, words


@pytest.mark.parametrize(
    ("operator", "name", "size"),
    [
        (operator, name, size)
        for operator in OPERATORS
        for name in catalogue.candidates(operator)
        for size in ("everything is one", "odd in every axis")
    ],
)
def test_a_step_with_a_candidate_agrees_with_the_reference(
    operator: str, name: str, size: str
) -> None:
    right, words = _verdict(
        operator, SIZES[operator][size], solutions.named(operator, name), "float32"
    )
    assert right, words


def _zeros(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    out["out"].zero_()


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_attention_left_out_shows_in_the_step(operator: str, dtype: str) -> None:
    careless = Solution(name="zeros", prepare=lambda state, axes: None, run=_zeros)
    right, words = _verdict(operator, dict(_tiny(operator).axes), careless, dtype)
    assert not right, words


def _own_tokens_only(state: dict[str, Tensor], axes: dict[str, int]) -> Any:
    short = {**state, "prefix_k": state["prefix_k"][:, :1], "prefix_v": state["prefix_v"][:, :1]}
    return solutions.named(SHARED, "torch_cascade").prepare(short, axes)


def _prompt_only(state: dict[str, Tensor], axes: dict[str, int]) -> Any:
    short = {**state, "own_k": state["own_k"][:, :, :0], "own_v": state["own_v"][:, :, :0]}
    return solutions.named(SHARED, "torch_cascade").prepare(short, axes)


def _most_of_the_prompt(state: dict[str, Tensor], axes: dict[str, int]) -> Any:
    kept = axes["prefix_len"] * 9 // 10
    short = {key: state[key][:, :kept] for key in ("prefix_k", "prefix_v")}
    return solutions.named(SHARED, "torch_cascade").prepare({**state, **short}, axes)


@pytest.mark.parametrize("prepare", [_own_tokens_only, _prompt_only, _most_of_the_prompt])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_part_of_the_cache_left_out_shows_in_the_step(prepare: Any, dtype: str) -> None:
    careless = Solution(
        name="partial", prepare=prepare, run=solutions.named(SHARED, "torch_cascade").run
    )
    right, words = _verdict(SHARED, dict(_tiny(SHARED).axes), careless, dtype)
    assert not right, words


@pytest.mark.parametrize("rule", [{"stride": 1 << 20}, {"window": 224}])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_keys_left_out_show_in_the_layer(rule: dict[str, int], dtype: str) -> None:
    honest = solutions.named(WINDOWED, "torch_blocked")
    careless = Solution(
        name="fewer keys",
        prepare=lambda state, axes: honest.prepare(state, {**axes, **rule}),
        run=honest.run,
    )
    right, words = _verdict(WINDOWED, dict(_tiny(WINDOWED).axes), careless, dtype)
    assert not right, words
