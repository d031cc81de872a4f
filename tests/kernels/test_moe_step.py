"""The layer with every Solution in its slot, and what runs where."""

from __future__ import annotations

import pytest
import torch

from kernels import catalogue, registration, solutions
from kernels.definition import NotAvailable
from kernels.trials import compare, draw
from tests.kernels.drawing import arguments_of, poisoned

WHAT = catalogue.definition("moe_routing")
TINY = dict(catalogue.presets("moe_routing")["tiny"].workloads[0].axes)
HERE = ("padded", "loop", "grouped_mm", "torch_sorted", "triton_grouped")


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(23)


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("tokens", [1, 9, 16])
def test_the_layer_agrees_with_the_reference(name: str, tokens: int) -> None:
    axes = {**TINY, "tokens": tokens}
    state = draw(WHAT.program_state, axes, torch.float32, "cpu")
    inputs = draw(WHAT.program_inputs, axes, torch.float32, "cpu")
    out = poisoned(WHAT.program_outputs, axes, torch.float32)
    build = solutions.program("moe_routing").Step
    build(solution=solutions.named("moe_routing", name), state=state, axes=axes)(inputs, out)
    expected = solutions.reference("moe_routing").reference_step(
        state=state, inputs=inputs, axes=axes
    )
    right, words = compare(out["y"], expected["y"], WHAT.tolerances["float32"])
    assert right, words


def test_a_later_token_does_not_change_an_earlier_one() -> None:
    axes = {**TINY, "tokens": 12}
    state = draw(WHAT.program_state, axes, torch.float64, "cpu")
    state["w_router"] = state["w_router"].float()
    x = torch.randn(12, axes["hidden"], dtype=torch.float64)
    step = solutions.reference("moe_routing").reference_step
    whole = step(state=state, inputs={"x": x}, axes=axes)["y"]
    part = step(state=state, inputs={"x": x[:5]}, axes={**axes, "tokens": 5})["y"]
    torch.testing.assert_close(whole[:5], part)


def test_the_hopper_kernel_is_unavailable_elsewhere() -> None:
    state = draw(WHAT.state, TINY, torch.bfloat16, "cpu")
    with pytest.raises(NotAvailable, match=r"Hopper|Triton 3\.6"):
        solutions.candidate("moe_routing/cuda_gluon").prepare(state, TINY)


def test_gradients_flow_through_the_registered_operator() -> None:
    arguments = arguments_of(WHAT, {**TINY, "tokens": 9})
    leaves = [one.requires_grad_() for one in arguments if isinstance(one, torch.Tensor)]
    call = registration.register("moe_routing", "torch_sorted")
    # Measuring in the same process turns gradients off for good.
    with torch.enable_grad():
        call(*arguments).square().sum().backward()
    assert all(leaf.grad is not None and leaf.grad.abs().sum() > 0 for leaf in leaves)
