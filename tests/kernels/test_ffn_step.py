"""Layers with every Solution in the slot, and what runs where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels import catalogue, registration, solutions
from kernels.definition import NotAvailable
from kernels.trials import compare, draw
from tests.kernels.drawing import arguments_of, poisoned

WHAT = catalogue.definition("fused_ffn")
TINY = dict(catalogue.presets("fused_ffn")["tiny"].workloads[0].axes)
HERE = ("three_matmuls", "joint_matmul", "torch_in_place", "triton_swiglu")


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(29)


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("tokens", [1, 9, 16])
def test_the_layers_agree_with_the_reference(name: str, tokens: int) -> None:
    axes = {**TINY, "tokens": tokens, "layers": 2}
    state = draw(WHAT.program_state, axes, torch.float32, "cpu")
    inputs = draw(WHAT.program_inputs, axes, torch.float32, "cpu")
    out = poisoned(WHAT.program_outputs, axes, torch.float32)
    build = solutions.program("fused_ffn").Step
    build(solution=solutions.named("fused_ffn", name), state=state, axes=axes)(inputs, out)
    expected = solutions.reference("fused_ffn").reference_step(
        state=state, inputs=inputs, axes=axes
    )
    right, words = compare(out["y"], expected["y"], WHAT.tolerances["float32"])
    assert right, words


def _zeros(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    out["out"].zero_()


def test_a_network_left_out_shows_in_the_step() -> None:
    state = draw(WHAT.program_state, TINY, torch.bfloat16, "cpu")
    inputs = draw(WHAT.program_inputs, TINY, torch.bfloat16, "cpu")
    out = poisoned(WHAT.program_outputs, TINY, torch.bfloat16)
    careless = solutions.Solution(
        name="zeros",
        prepare=lambda state, axes: None,
        run=_zeros,
    )
    solutions.program("fused_ffn").Step(solution=careless, state=state, axes=TINY)(inputs, out)
    expected = solutions.reference("fused_ffn").reference_step(
        state=state, inputs=inputs, axes=TINY
    )
    assert not compare(out["y"], expected["y"], WHAT.tolerances["bfloat16"])[0]


def test_the_hopper_kernel_is_unavailable_elsewhere() -> None:
    state = draw(WHAT.state, TINY, torch.bfloat16, "cpu")
    with pytest.raises(NotAvailable, match=r"Hopper|Triton 3\.6"):
        solutions.candidate("fused_ffn/cuda_gluon").prepare(state, TINY)


@pytest.mark.parametrize("name", ["torch_in_place", "triton_swiglu"])
def test_gradients_flow_through_the_compiled_operator(name: str) -> None:
    w_gate_up, w_down, x = arguments_of(WHAT, {**TINY, "tokens": 5})
    leaves = [one.requires_grad_() for one in (w_gate_up, w_down, x)]
    call = registration.register("fused_ffn", name)
    torch.compiler.reset()
    compiled = torch.compile(lambda *given: call(*given), fullgraph=True, backend="aot_eager")
    compiled(*leaves).square().sum().backward()

    gate, up = (x @ half.T for half in w_gate_up)
    plain = ((torch.nn.functional.silu(gate) * up) @ w_down.T).square().sum()
    for leaf, wanted in zip(leaves, torch.autograd.grad(plain, leaves), strict=True):
        torch.testing.assert_close(leaf.grad, wanted, atol=1e-4, rtol=1e-4)
