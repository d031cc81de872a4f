"""Sizes at which the attention of two operators takes another path, in every dtype it promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kernels import catalogue, solutions
from kernels.definition import NotAvailable
from kernels.trials import compare
from tests.kernels.shapes import SHARED, SIZES, WINDOWED, draw, poisoned, reference_of
from tests.soak_cases import every

DTYPES = ("float32", "float16", "bfloat16")


def _cases() -> Iterator[tuple[str, str, str, str]]:
    for operator in (SHARED, WINDOWED):
        for name in (*catalogue.baselines(operator), *catalogue.candidates(operator)):
            # FlashInfer needs a GPU; FlexAttention has a file of its own.
            if name.startswith(("flashinfer_", "flex_")):
                continue
            for size in SIZES[operator]:
                for dtype in DTYPES:
                    # Triton's interpreter multiplies bf16 matrices wrongly.
                    if not (name.startswith("triton_") and dtype == "bfloat16"):
                        yield operator, name, size, dtype


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(7)


@pytest.mark.parametrize(("operator", "name", "size", "dtype"), every(5, _cases()))
def test_attention_agrees_with_the_reference(
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


@pytest.mark.parametrize("operator", [SHARED, WINDOWED])
def test_a_gpu_kernel_requires_a_gpu(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    what, axes = catalogue.definition(operator), SIZES[operator]["odd in every axis"]
    [name] = [one for one in catalogue.candidates(operator) if one.startswith("triton_")]
    solution = solutions.named(operator, name)

    with pytest.raises(NotAvailable):
        solution.run(
            solution.prepare(draw(what.state, axes, torch.float32), axes),
            draw(what.inputs, axes, torch.float32),
            poisoned(what.outputs, axes, torch.float32),
        )
