"""What the tolerances let pass and what they do not, by computing in another precision."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.solutions import Solution
from kernels.tolerances import tolerance
from kernels.trials import compare
from tests.kernels.shapes import SHARED, WINDOWED, draw, poisoned

HONEST = {SHARED: "torch_cascade", WINDOWED: "torch_blocked"}


def _inside(operator: str, precision: torch.dtype) -> Solution:
    """The honest candidate with what it reads and writes rounded to `precision`."""
    honest = solutions.named(operator, HONEST[operator])

    def rounded(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensor.to(precision).to(tensor.dtype) for name, tensor in tensors.items()}

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        honest.run(prepared, rounded(inputs), out)
        out["out"].copy_(out["out"].to(precision))

    return Solution(
        name="rounded", prepare=lambda state, axes: honest.prepare(rounded(state), axes), run=run
    )


def _stands(operator: str, dtype: str, precision: torch.dtype) -> tuple[bool, str]:
    torch.manual_seed(5)
    what, kind = catalogue.definition(operator), getattr(torch, dtype)
    axes = dict(catalogue.presets(operator)["tiny"].workloads[0].axes)
    state, inputs = draw(what.program_state, axes, kind), draw(what.program_inputs, axes, kind)
    out = poisoned(what.program_outputs, axes, kind)
    build = solutions.program(operator).Step
    build(solution=_inside(operator, precision), state=state, axes=axes)(inputs, out)
    expected = solutions.reference(operator).reference_step(state=state, inputs=inputs, axes=axes)
    return compare(out["y"], expected["y"], what.tolerances[dtype])


@pytest.mark.parametrize("operator", [SHARED, WINDOWED])
@pytest.mark.parametrize(
    ("dtype", "lower"),
    [
        ("float32", torch.float16),
        ("float32", torch.bfloat16),
        ("float16", torch.bfloat16),
        ("float16", torch.float8_e4m3fn),
        ("bfloat16", torch.float8_e4m3fn),
    ],
)
def test_a_lower_precision_inside_is_caught(operator: str, dtype: str, lower: torch.dtype) -> None:
    right, words = _stands(operator, dtype, lower)
    assert not right, words


@pytest.mark.parametrize("operator", [SHARED, WINDOWED])
def test_float16_inside_a_bfloat16_step_is_as_right_as_was_asked(operator: str) -> None:
    assert _stands(operator, "bfloat16", torch.float16)[0]


def test_longer_sums_and_more_stored_steps_may_be_further_off() -> None:
    short, long = (tolerance("float32", terms=terms, roundings=4) for terms in (64, 1 << 15))
    assert long.max_abs > 2 * short.max_abs
    few, many = (tolerance("bfloat16", terms=64, roundings=steps) for steps in (2, 8))
    assert many.max_abs == pytest.approx(2 * few.max_abs, rel=0.05)
    assert few.max_rel < few.max_abs < few.hard_cap_abs
    assert (long.matched_share, few.matched_share) == (1.0, 0.999)
