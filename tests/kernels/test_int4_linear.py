"""4-bit weights: the packing, and what the bounds let pass in a whole step and what they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kernels import catalogue, llama, solutions
from kernels.int4_linear.op import DEFINITION, GROUP, LAYERS, PRESETS, bytes_moved
from kernels.solutions import Solution
from kernels.trials import compare, draw

OPERATOR = "int4_linear"
_MODEL = {"heads": 4, "kv_heads": 2, "head_dim": 64, "hidden": 256, "ffn": 896}


def _axes() -> dict[str, int]:
    groups = {"groups": 2, "hidden_groups": 2, "heads_groups": 2, "ffn_groups": 7}
    return llama.sized(
        _MODEL, layers=LAYERS, batch=16, context_len=64, in_features=256, out_features=896, **groups
    )


def _step(solution: Solution) -> tuple[bool, str]:
    """The Program in bfloat16 with a solution in its slot, against the reference."""
    torch.manual_seed(3)
    axes = _axes()
    state = draw(DEFINITION.program_state, axes, torch.bfloat16, "cpu")
    inputs = draw(DEFINITION.program_inputs, axes, torch.bfloat16, "cpu")
    expected = solutions.reference(OPERATOR).reference_step(state=state, inputs=inputs, axes=axes)
    out = {"y": torch.full_like(expected["y"], float("nan"), dtype=torch.bfloat16)}
    solutions.program(OPERATOR).Step(solution=solution, state=state, axes=axes)(inputs, out)
    return compare(out["y"], expected["y"], DEFINITION.tolerances["bfloat16"])


@pytest.mark.parametrize("name", ["torch_groups", "cublas", "int4pack"])
def test_honest_solutions_are_right_in_sixteen_bits_through_every_layer(name: str) -> None:
    right, words = _step(solutions.named(OPERATOR, name))
    assert right, words


def _three_bits(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {**state, "weight": state["weight"] // 2 * 2}


def _one_scale_a_row(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    mean = state["scale"].float().mean(1, keepdim=True).to(state["scale"].dtype)
    return {**state, "scale": mean.expand_as(state["scale"]).contiguous()}


def _another_zero(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {**state, "weight": (state["weight"] + 1).clamp(max=15)}


@pytest.mark.parametrize("change", [_three_bits, _one_scale_a_row, _another_zero])
def test_other_weights_show_in_the_step(
    change: Callable[[Mapping[str, Tensor]], dict[str, Tensor]],
) -> None:
    honest = solutions.named(OPERATOR, "torch_groups")
    careless = replace(honest, prepare=lambda state, axes: honest.prepare(change(state), axes))
    right, words = _step(careless)
    assert not right, words


def test_activations_in_eight_bits_are_caught() -> None:
    honest = solutions.named(OPERATOR, "torch_groups")

    def run(prepared: object, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        rounded = inputs["x"].to(torch.float8_e4m3fn).to(inputs["x"].dtype)
        honest.run(prepared, {"x": rounded}, out)

    right, words = _step(replace(honest, run=run))
    assert not right, words


def test_a_word_has_the_weights_thirty_two_apart_in_its_digits() -> None:
    module = solutions.module_of(solutions.resolve(f"{OPERATOR}/triton_split"))
    weight = torch.randint(0, 16, (5, 3 * GROUP), dtype=torch.uint8)

    words = module.packed(weight)

    assert words.shape == (3, 5, module.WORDS)
    digits = [(words.to(torch.int32) >> 4 * digit) & 15 for digit in range(4)]
    assert torch.equal(torch.cat(digits, -1).transpose(0, 1).flatten(1), weight.to(torch.int32))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_the_bits_put_in_front_of_a_weight_are_exact_numbers(kind: torch.dtype) -> None:
    """What the assembly does to one word, in torch: mask, exponent, one product and sum."""
    module = solutions.module_of(solutions.resolve(f"{OPERATOR}/triton_split"))
    exponent, one, offset = {
        torch.bfloat16: (0x4300, 0x3F80, 0xC308),
        torch.float16: (0x6400, 0x3C00, 0xE408),
    }[kind]
    for bits in (exponent, one, offset):
        assert all(f"{bits * 0x10001:#x}" in text for text in module.ASSEMBLY[kind])

    def number(bits: int) -> Tensor:
        return torch.tensor(bits - (bits >> 15 << 16), dtype=torch.int16).view(kind)

    for weight in range(16):
        assert float(number(exponent | weight) * number(one) + number(offset)) == weight - 8


@pytest.mark.parametrize("name", ["triton_split", "torch_groups"])
@pytest.mark.parametrize("out_features", [1, 130, 257])
def test_any_number_of_output_features_is_right(name: str, out_features: int) -> None:
    axes = {"batch": 3, "in_features": 5 * GROUP, "out_features": out_features, "groups": 5}
    torch.manual_seed(5)
    state = draw(DEFINITION.state, axes, torch.float32, "cpu")
    inputs = draw(DEFINITION.inputs, axes, torch.float32, "cpu")
    out = {"out": torch.full((3, out_features), float("nan"))}
    solution = solutions.named(OPERATOR, name)

    solution.run(solution.prepare(state, axes), inputs, out)

    expected = solutions.reference(OPERATOR).reference(state, inputs, axes)
    right, words = compare(out["out"], expected["out"], DEFINITION.tolerances["float32"])
    assert right, words


def test_a_weight_costs_half_a_byte_and_its_share_of_a_scale() -> None:
    axes = {**PRESETS["h200"].workloads[0].axes, "batch": 0}
    weights = axes["in_features"] * axes["out_features"]
    assert bytes_moved(axes, "bfloat16") == weights * (1 / 2 + 2 / GROUP)
    assert set(catalogue.definition(OPERATOR).axes) == set(axes)
