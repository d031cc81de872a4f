"""Residual sum, RMSNorm and FP8: what its bounds let pass in a step, and what they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kernels import catalogue, llama, solutions
from kernels.residual_norm_quantize.op import PRESETS, bytes_moved
from kernels.solutions import Solution
from kernels.trials import compare, draw

OPERATOR = "residual_norm_quantize"
_MODEL = {"heads": 8, "kv_heads": 2, "head_dim": 64, "hidden": 512, "ffn": 1792}


def _axes() -> dict[str, int]:
    axes = llama.sized(_MODEL, layers=1, tokens=64)
    return {name: size for name, size in axes.items() if name != "layers"}


def _step(solution: Solution, dtype: torch.dtype) -> list[tuple[bool, str]]:
    torch.manual_seed(3)
    what, axes = catalogue.definition(OPERATOR), _axes()
    state = draw(what.program_state, axes, dtype, "cpu")
    inputs = draw(what.program_inputs, axes, dtype, "cpu")
    expected = solutions.reference(OPERATOR).reference_step(state=state, inputs=inputs, axes=axes)
    out = {
        name: torch.full_like(tensor, float("nan"), dtype=dtype)
        for name, tensor in expected.items()
    }
    solutions.program(OPERATOR).Step(solution=solution, state=state, axes=axes)(inputs, out)
    tolerance = what.tolerances[str(dtype).removeprefix("torch.")]
    return [compare(out[name], expected[name], tolerance) for name in expected]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["eager", "torch_in_place"])
def test_a_step_with_an_honest_solution_agrees_with_the_reference(
    name: str, dtype: torch.dtype
) -> None:
    assert all(right for right, _ in _step(solutions.named(OPERATOR, name), dtype))


def _one_scale(out: Mapping[str, Tensor]) -> None:
    """One scale for all tokens instead of one for each."""
    wide = out["q"].float() * out["scale"][:, None]
    out["scale"].fill_(out["scale"].max() * 64)
    out["q"].copy_(wide / out["scale"][:, None])


def _int_like(out: Mapping[str, Tensor]) -> None:
    """Five bits instead of eight."""
    out["q"].copy_((out["q"].float() / 64).round() * 64)


def _no_sum(out: Mapping[str, Tensor]) -> None:
    out["sum"].zero_()


def _scale_off(out: Mapping[str, Tensor]) -> None:
    out["scale"].mul_(1.1)


@pytest.mark.parametrize("spoil", [_one_scale, _int_like, _no_sum, _scale_off])
def test_wrong_results_show_in_the_step(spoil: Callable[[Mapping[str, Tensor]], None]) -> None:
    honest = solutions.named(OPERATOR, "torch_in_place")

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        honest.run(prepared, inputs, out)
        spoil(out)

    assert not all(right for right, _ in _step(replace(honest, run=run), torch.bfloat16))


def _ties() -> dict[str, Tensor]:
    """Halfway points of e4m3 with both neighbours, subnormal ones too; the row's largest is 448.

    With weights of 1 and a mean square that cancels exactly, q is the input itself.
    """
    codes = torch.arange(0x7E, dtype=torch.uint8)
    known = codes.view(torch.float8_e4m3fn).float()
    halfway = (known[1:] + known[:-1]) / 2
    row = torch.cat([known, halfway, -known, -halfway, torch.tensor([448.0, -448.0])])
    return {"x": row[None], "residual": torch.zeros_like(row)[None]}


@pytest.mark.parametrize("name", ["eager", "torch_in_place", "triton_rows"])
def test_every_fp8_number_is_kept_and_ties_are_a_step_off_at_most(name: str) -> None:
    inputs = _ties()
    tokens, hidden = inputs["x"].shape
    state, axes = {"weight": torch.ones(hidden)}, {"tokens": tokens, "hidden": hidden}
    out = {
        "q": torch.full((tokens, hidden), float("nan")).to(torch.float8_e4m3fn),
        "scale": torch.full((tokens,), float("nan")),
        "sum": torch.full((tokens, hidden), float("nan")),
    }
    solution = solutions.named(OPERATOR, name)

    solution.run(solution.prepare(state, axes), inputs, out)

    exact = inputs["x"].abs().to(torch.float8_e4m3fn).float() == inputs["x"].abs()
    assert torch.equal(out["q"].float()[exact], inputs["x"][exact])
    size = inputs["x"].abs()
    step = torch.exp2(torch.floor(torch.log2(size.clamp(min=2.0**-6)))) / 8
    assert bool(((out["q"].float() - inputs["x"]).abs() <= step / 2).all())


def test_a_number_costs_seven_bytes_in_sixteen_bits() -> None:
    axes = PRESETS["h200"].workloads[0].axes
    numbers = axes["tokens"] * axes["hidden"]
    assert bytes_moved(axes, "bfloat16") == pytest.approx(7 * numbers, rel=1e-3)
