"""Every Solution computes its operator, at every size and dtype it promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kernels import catalogue, solutions
from kernels.definition import NotAvailable
from kernels.trials import compare
from tests.kernels.shapes import (
    SHARED,
    SIZES,
    WINDOWED,
    draw,
    poisoned,
    reference_of,
)

# FlexAttention is compiled anew for every size: one size each keeps the suite quick.
COMPILED_AT = {SHARED: "odd in every axis", WINDOWED: "odd in every axis"}
DTYPES = ("float32", "float16", "bfloat16")


def _cases() -> Iterator[tuple[str, str, str, str]]:
    for operator in (SHARED, WINDOWED):
        for name in (*catalogue.baselines(operator), *catalogue.candidates(operator)):
            for size in SIZES[operator]:
                for dtype in DTYPES:
                    # FlashInfer runs on a GPU alone.
                    if name.startswith("flashinfer_"):
                        continue
                    compiled = name.startswith("flex_")
                    if compiled and (size != COMPILED_AT[operator] or dtype != "float32"):
                        continue
                    # Triton's interpreter multiplies bf16 matrices wrongly.
                    if name.startswith("triton_") and dtype == "bfloat16":
                        continue
                    yield operator, name, size, dtype


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(7)


@pytest.mark.parametrize(("operator", "name", "size", "dtype"), list(_cases()))
def test_every_solution_agrees_with_the_reference(
    operator: str, name: str, size: str, dtype: str
) -> None:
    what, axes, kind = catalogue.definition(operator), SIZES[operator][size], getattr(torch, dtype)
    state, inputs = draw(what.state, axes, kind), draw(what.inputs, axes, kind)
    out = poisoned(what.outputs, axes, kind)
    solution = solutions.named(operator, name)

    solution.run(solution.prepare(state, axes), inputs, out)

    expected = reference_of(operator, state, inputs, axes)
    right, words = compare(out["out"], expected["out"], what.tolerances[dtype])
    assert right, words


@pytest.mark.parametrize(
    ("operator", "name"),
    [
        (operator, name)
        for operator in (SHARED, WINDOWED)
        for name in ("sdpa", "sdpa_banded", *catalogue.candidates(operator))
        if not (operator == SHARED and name == "sdpa_banded")
    ],
)
def test_inputs_may_be_slices_of_one_projection(operator: str, name: str) -> None:
    what, axes = catalogue.definition(operator), SIZES[operator]["odd in every axis"]
    state, inputs = draw(what.state, axes, torch.float32), draw(what.inputs, axes, torch.float32)
    together = torch.cat(list(inputs.values()), -2)
    sides = [tensor.shape[-2] for tensor in inputs.values()]
    slices = dict(zip(inputs, together.split(sides, -2), strict=True))
    out = poisoned(what.outputs, axes, torch.float32)
    solution = solutions.named(operator, name)

    solution.run(solution.prepare(state, axes), slices, out)

    expected = reference_of(operator, state, inputs, axes)
    right, words = compare(out["out"], expected["out"], what.tolerances["float32"])
    assert right, words


@pytest.mark.parametrize("name", ["sdpa", "torch_cascade", "triton_cascade"])
def test_nothing_is_written_to_the_shared_state(name: str) -> None:
    what, axes = catalogue.definition(SHARED), SIZES[SHARED]["odd in every axis"]
    state, inputs = draw(what.state, axes, torch.float32), draw(what.inputs, axes, torch.float32)
    before = {key: tensor.clone() for key, tensor in state.items()}
    solution = solutions.named(SHARED, name)

    solution.run(solution.prepare(state, axes), inputs, poisoned(what.outputs, axes, torch.float32))

    assert all(torch.equal(state[key], before[key]) for key in state)


@pytest.mark.parametrize("name", ["torch_cascade", "triton_cascade"])
def test_a_second_call_remembers_nothing_of_the_first(name: str) -> None:
    what, axes = catalogue.definition(SHARED), SIZES[SHARED]["odd in every axis"]
    state = draw(what.state, axes, torch.float32)
    solution = solutions.named(SHARED, name)
    prepared = solution.prepare(state, axes)
    first, second = (draw(what.inputs, axes, torch.float32) for _ in range(2))
    out = poisoned(what.outputs, axes, torch.float32)

    solution.run(prepared, first, out)
    solution.run(prepared, second, out)

    expected = reference_of(SHARED, state, second, axes)
    assert compare(out["out"], expected["out"], what.tolerances["float32"])[0]


@pytest.mark.parametrize("name", ["torch_cascade", "triton_cascade"])
def test_large_scores_do_not_overflow(name: str) -> None:
    what, axes = catalogue.definition(SHARED), SIZES[SHARED]["odd in every axis"]
    state, inputs = draw(what.state, axes, torch.float32), draw(what.inputs, axes, torch.float32)
    state["prefix_k"] *= 100.0
    out = poisoned(what.outputs, axes, torch.float32)
    solution = solutions.named(SHARED, name)

    solution.run(solution.prepare(state, axes), inputs, out)

    expected = reference_of(SHARED, state, inputs, axes)
    # Scores in the hundreds: fp32 keeps them to about 1e-4, and the exponential with them.
    torch.testing.assert_close(out["out"].double(), expected["out"], atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("operator", [SHARED, WINDOWED])
def test_a_gpu_kernel_says_so_without_a_gpu(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    what, axes = catalogue.definition(operator), SIZES[operator]["odd in every axis"]
    [name] = [one for one in catalogue.candidates(operator) if one.startswith("triton_")]
    solution = solutions.named(operator, name)

    with pytest.raises(NotAvailable, match="CUDA GPU"):
        solution.run(
            solution.prepare(draw(what.state, axes, torch.float32), axes),
            draw(what.inputs, axes, torch.float32),
            poisoned(what.outputs, axes, torch.float32),
        )
