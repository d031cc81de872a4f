"""Sampling: which of equal logits are kept, and which token a chance takes."""

from __future__ import annotations

import pytest
import torch

from kernels import solutions
from kernels.token_sampling.op import DEFINITION, PRESETS
from kernels.trials import draw
from tests.kernels.drawing import poisoned

OPERATOR = "token_sampling"
AXES = {**PRESETS["tiny"].workloads[0].axes, "batch": 3}


@pytest.mark.parametrize("name", ["torch_maxima", "triton_maxima"])
def test_of_equal_logits_the_first_in_the_vocabulary_are_kept(name: str) -> None:
    torch.manual_seed(3)
    inputs = draw(DEFINITION.inputs, AXES, torch.float32, "cpu")
    # Whole logits have hundreds of equals, and the first row is one number, of either sign.
    inputs["logits"] = inputs["logits"].round()
    inputs["logits"][0] = torch.zeros(AXES["vocab"]).copysign(torch.randn(AXES["vocab"]))
    inputs["top_p"].fill_(1.0)
    inputs["top_k"].fill_(AXES["most_k"] - 1)
    inputs["chance"].fill_(0.9999)
    expected = solutions.reference(OPERATOR).reference({}, inputs, AXES)
    out = poisoned(DEFINITION.outputs, AXES, torch.float32)
    solution = solutions.named(OPERATOR, name)

    solution.run(solution.prepare({}, AXES), inputs, out)

    assert out["token"][0] == AXES["most_k"] - 1
    assert torch.equal(out["token"], expected["token"].int())


def test_without_a_chance_the_token_is_the_largest() -> None:
    inputs = draw(DEFINITION.inputs, AXES, torch.float32, "cpu")
    inputs["chance"].zero_()
    largest = inputs["logits"].argmax(-1)
    expected = solutions.reference(OPERATOR).reference({}, inputs, AXES)
    assert torch.equal(expected["token"].long(), largest)
