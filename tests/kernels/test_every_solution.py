"""Every Solution of every operator agrees with the reference.

Sizes and contents come from the operator's Definition, so that a new operator is covered by being
in the catalogue. Everything runs on the processor, Triton kernels in its interpreter; a Solution
that cannot run here is skipped with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Definition, NotAvailable, SpecialValues
from kernels.solutions import Solution
from kernels.trials import compare, draw
from tests.kernels.drawing import (
    autograd_gradients,
    gapped,
    planted,
    poisoned,
    sizes_of,
    wider,
)

ONE, FEW, TINY = "everything free is one", "few", "the tiny workload"
ODD, SMALL = "odd", "odd and small"
# The interpreter takes milliseconds a program and computes its products of bf16 wrongly.
INTERPRETED = {ONE: ("float32", "float16"), SMALL: ("float32", "float16")}
INTERPRETED_LONG = {ODD: ("float32",)}
PLAIN = {
    ONE: ("float32",),
    SMALL: ("float32", "float16", "bfloat16"),
    ODD: ("float32",),
    TINY: ("float32",),
}
# Compiled anew for every size.
COMPILED: dict[str, tuple[str, ...]] = {SMALL: ("float32",)}


def _solutions() -> Iterator[tuple[str, str]]:
    for operator in catalogue.operators_of_one_rank():
        for name in (*catalogue.baselines(operator), *catalogue.candidates(operator)):
            # FlexAttention has a file of its own.
            if not name.startswith(("cuda_", "flex_")):
                yield operator, name


def _cases(*, long: bool = False) -> Iterator[tuple[str, str, str, str]]:
    for operator, name in _solutions():
        if name.startswith("triton_"):
            wanted = INTERPRETED_LONG if long else INTERPRETED
        elif long:
            continue
        elif name.startswith("torch_") or name == catalogue.presets(operator)["tiny"].baseline:
            wanted = PLAIN
        else:
            wanted = COMPILED
        for size, dtypes in wanted.items():
            for dtype in dtypes:
                if dtype in catalogue.definition(operator).tolerances:
                    yield operator, name, size, dtype


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(17)


def _loaded(operator: str, name: str) -> Solution:
    try:
        return solutions.named(operator, name)
    except NotAvailable as reason:
        pytest.skip(f"{operator}/{name}: {reason}")


def _result(
    solution: Solution, what: Definition, given: tuple[dict, dict], axes: dict, kind: torch.dtype
) -> dict[str, Tensor]:
    """One call on poisoned outputs; inputs and state must be left as they were."""
    state, inputs = given
    before = {name: tensor.clone() for name, tensor in {**state, **inputs}.items()}
    out = poisoned(what.outputs, axes, kind)
    try:
        solution.run(solution.prepare(state, axes), inputs, out)
    except NotAvailable as reason:
        pytest.skip(f"{what.operator}/{solution.name}: {reason}")
    for name, tensor in {**state, **inputs}.items():
        assert torch.equal(_bits(tensor), _bits(before[name])), f"{name} was written to"
    return out


def _assert_right(
    what: Definition,
    given: tuple[dict, dict],
    axes: dict,
    out: dict[str, Tensor],
    dtype: str,
    gain: float = 1.0,
) -> None:
    expected = solutions.reference(what.operator).reference(
        state=given[0], inputs=given[1], axes=axes
    )
    assert set(expected) == set(out)
    for name, tensor in expected.items():
        right, words = compare(out[name], tensor, wider(what.tolerances[dtype], gain))
        assert right, f"{name}: {words}"


@pytest.mark.parametrize(
    ("operator", "name", "size", "dtype"),
    [
        *_cases(),
        *(pytest.param(*case, marks=pytest.mark.soak) for case in _cases(long=True)),
    ],
)
def test_a_solution_agrees_with_the_reference(
    operator: str, name: str, size: str, dtype: str
) -> None:
    what, axes, kind = catalogue.definition(operator), sizes_of(operator)[size], _kind(dtype)
    solution = _loaded(operator, name)
    given = draw(what.state, axes, kind, "cpu"), draw(what.inputs, axes, kind, "cpu")
    out = _result(solution, what, given, axes, kind)
    _assert_right(what, given, axes, out, dtype)


def _ours() -> list[tuple[str, str]]:
    return [(op, name) for op, name in _solutions() if name in catalogue.candidates(op)]


@pytest.mark.parametrize(
    ("operator", "name"),
    [(op, name) for op, name in _ours() if catalogue.definition(op).held_back.strided],
)
@pytest.mark.parametrize("size", [SMALL, pytest.param(ODD, marks=pytest.mark.soak)])
def test_inputs_may_have_gaps(operator: str, name: str, size: str) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)[size]
    state = draw(what.state, axes, torch.float32, "cpu")
    inputs = gapped(what, draw(what.inputs, axes, torch.float32, "cpu"))
    assert not all(tensor.is_contiguous() for tensor in inputs.values())
    out = _result(_loaded(operator, name), what, (state, inputs), axes, torch.float32)
    _assert_right(what, (state, inputs), axes, out, "float32")


@pytest.mark.parametrize(
    ("operator", "name", "special"),
    [
        pytest.param(
            op,
            name,
            special,
            id=f"{op}-{name}-{special.name}",
            marks=[] if number == place % len(specials) else [pytest.mark.soak],
        )
        for place, (op, name) in enumerate(_ours())
        for specials in [catalogue.definition(op).held_back.special]
        for number, special in enumerate(specials)
    ],
)
@pytest.mark.parametrize("size", [FEW, pytest.param(SMALL, marks=pytest.mark.soak)])
def test_special_values_match_the_reference(
    operator: str, name: str, special: SpecialValues, size: str
) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)[size]
    state = planted(draw(what.state, axes, torch.float32, "cpu"), special)
    inputs = planted(draw(what.inputs, axes, torch.float32, "cpu"), special)
    out = _result(_loaded(operator, name), what, (state, inputs), axes, torch.float32)
    _assert_right(what, (state, inputs), axes, out, "float32", special.gain)


@pytest.mark.parametrize(("operator", "name"), _ours())
def test_a_second_call_is_independent_of_the_first(operator: str, name: str) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)[SMALL]
    solution = _loaded(operator, name)
    state = draw(what.state, axes, torch.float32, "cpu")
    first, second = (draw(what.inputs, axes, torch.float32, "cpu") for _ in range(2))
    out = poisoned(what.outputs, axes, torch.float32)
    try:
        prepared = solution.prepare(state, axes)
        solution.run(prepared, first, out)
        solution.run(prepared, second, out)
    except NotAvailable as reason:
        pytest.skip(f"{operator}/{name}: {reason}")
    _assert_right(what, (state, second), axes, out, "float32")


def _trained() -> Iterator[tuple[str, str]]:
    """Candidates with a backward pass: `gradients` in the text, so that none is loaded here."""
    for operator, name in _ours():
        if "def gradients(" in catalogue.candidates(operator)[name].read_text():
            yield operator, name


@pytest.mark.parametrize(("operator", "name"), list(_trained()))
@pytest.mark.parametrize("size", [ONE, SMALL])
def test_gradients_agree_with_those_of_the_reference(operator: str, name: str, size: str) -> None:
    what, axes = catalogue.definition(operator), sizes_of(operator)[size]
    solution = _loaded(operator, name)
    assert solution.gradients is not None
    given = tuple(draw(specs, axes, torch.float32, "cpu") for specs in (what.state, what.inputs))
    state, inputs = given
    out = _result(solution, what, (state, inputs), axes, torch.float32)
    grads = {name: torch.randn_like(tensor) for name, tensor in out.items()}

    made: Any = solution.gradients(state, inputs, out, grads, axes)

    assert made
    expected = autograd_gradients(what, state, inputs, grads, axes, made)
    # The largest of all: a gradient that cancels to nothing is held to what it cancelled from.
    largest = max(float(tensor.abs().max()) for tensor in expected.values())
    for wanted, tensor in expected.items():
        assert (made[wanted].double() - tensor).abs().max() <= 2e-4 * largest, wanted


def _bits(tensor: Tensor) -> Tensor:
    """The contents as whole numbers, so that NaN equals NaN."""
    whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.contiguous().view(whole[tensor.element_size()])


def _kind(dtype: str) -> torch.dtype:
    found: torch.dtype = getattr(torch, dtype)
    return found
