"""What the bounds of the two int8 operators let pass in a whole step, and what they do not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from kernels import catalogue, llama, solutions
from kernels.int8_linear.op import LAYERS
from kernels.solutions import Prepare, Run, Solution
from kernels.trials import compare, draw

LINEAR, QUANTIZE = "int8_linear", "int8_quantize"
_MODEL = {"heads": 4, "kv_heads": 2, "head_dim": 64, "hidden": 256, "ffn": 896}


def _stands(operator: str, axes: Mapping[str, int], solution: Solution) -> tuple[bool, str]:
    """The Program in bfloat16 with a solution in its slot, against the reference."""
    torch.manual_seed(3)
    what = catalogue.definition(operator)
    state = draw(what.program_state, axes, torch.bfloat16, "cpu")
    inputs = draw(what.program_inputs, axes, torch.bfloat16, "cpu")
    expected = solutions.reference(operator).reference_step(state=state, inputs=inputs, axes=axes)
    out = {"y": torch.full_like(expected["y"], float("nan"), dtype=torch.bfloat16)}
    solutions.program(operator).Step(solution=solution, state=state, axes=axes)(inputs, out)
    return compare(out["y"], expected["y"], what.tolerances["bfloat16"])


def _decode(solution: Solution) -> tuple[bool, str]:
    axes = llama.sized(
        _MODEL, layers=LAYERS, batch=16, context_len=64, in_features=256, out_features=896
    )
    return _stands(LINEAR, axes, solution)


def _linear(changed: Run | None = None) -> Solution:
    honest = solutions.candidate(f"{LINEAR}/torch_scaled")
    return Solution(name="changed", prepare=honest.prepare, run=changed or honest.run)


def _through(x: Tensor, kind: torch.dtype) -> Tensor:
    return x.to(kind).to(x.dtype)


@pytest.mark.parametrize("name", ["torch_scaled", "cublas", "unfused"])
def test_sixteen_bits_all_the_way_through_every_layer_are_right(name: str) -> None:
    right, words = _decode(solutions.named(LINEAR, name))
    assert right, words


def test_activations_in_eight_bits_floating_are_caught() -> None:
    honest = _linear()

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        honest.run(prepared, {"x": _through(inputs["x"], torch.float8_e4m3fn)}, out)

    right, words = _decode(_linear(run))
    assert not right, words


def test_activations_in_int8_are_caught() -> None:
    honest = _linear()

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        step = inputs["x"].float().abs().amax(-1, keepdim=True) / 127
        rounded = (inputs["x"].float() / step).round() * step
        honest.run(prepared, {"x": rounded.to(inputs["x"].dtype)}, out)

    right, words = _decode(_linear(run))
    assert not right, words


_ROWS = {"tokens": 64, "hidden": 2048, "out_features": 512, "layers": 1}


def _nothing(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """There is no state."""


_PREPARE: Prepare = _nothing


def _quantised(
    *, a_step_off: float = 0.0, truncated: bool = False, scale_by: float = 1.0
) -> Solution:
    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        x = inputs["x"].float()
        scale = x.abs().amax(-1) / 127
        quotient = x / scale[:, None]
        q = quotient.trunc() if truncated else quotient.round()
        off = (torch.rand_like(q) < a_step_off) * torch.sign(torch.randn_like(q))
        out["q"].copy_((q + off).clamp(-127, 127))
        out["scale"].copy_(scale * scale_by)

    return Solution(name="changed", prepare=_PREPARE, run=run)


def _operator(solution: Solution) -> list[tuple[bool, str]]:
    torch.manual_seed(3)
    what = catalogue.definition(QUANTIZE)
    inputs = draw(what.inputs, _ROWS, torch.bfloat16, "cpu")
    out = {
        "q": torch.zeros(_ROWS["tokens"], _ROWS["hidden"], dtype=torch.int8),
        "scale": torch.zeros(_ROWS["tokens"]),
    }
    solution.run(None, inputs, out)
    expected = solutions.reference(QUANTIZE).reference({}, inputs, _ROWS)
    return [compare(out[key], expected[key], what.tolerances["bfloat16"]) for key in expected]


def test_a_step_off_in_fewer_than_one_of_a_thousand_is_a_tie_and_passes() -> None:
    rarely = _quantised(a_step_off=0.0008)
    assert all(right for right, _ in _operator(rarely))
    right, words = _stands(QUANTIZE, _ROWS, rarely)
    assert right, words


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(_quantised(a_step_off=0.02), id="a step off in one of fifty"),
        pytest.param(_quantised(truncated=True), id="cut off and not rounded"),
        pytest.param(_quantised(scale_by=1.02), id="scales two percent too large"),
    ],
)
def test_errors_larger_than_a_tie_are_caught_in_the_step(wrong: Solution) -> None:
    right, words = _stands(QUANTIZE, _ROWS, wrong)
    assert not right, words


def test_more_steps_off_than_ties_are_caught_by_the_operator() -> None:
    for wrong in (_quantised(a_step_off=0.002), _quantised(truncated=True)):
        assert not _operator(wrong)[0][0]


def test_the_bound_leaves_no_room_for_a_step_of_q() -> None:
    for tolerance in catalogue.definition(QUANTIZE).tolerances.values():
        assert tolerance.max_abs + 127 * tolerance.max_rel < 1
