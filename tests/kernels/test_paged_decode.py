"""Paged decoding: what lies after a sequence's last token is never seen."""

from __future__ import annotations

import pytest
import torch

from kernels import catalogue, solutions
from kernels.paged_decode.op import DEFINITION, PAGE, PRESETS, bytes_moved
from kernels.trials import compare, draw
from tests.kernels.drawing import poisoned

OPERATOR = "paged_decode"
LAST = (0, PAGE - 1, PAGE, 2 * PAGE + 5)


@pytest.mark.parametrize("name", ["torch_online", "triton_paged"])
def test_slots_and_pages_after_the_last_token_may_hold_anything(name: str) -> None:
    torch.manual_seed(7)
    axes = {**PRESETS["tiny"].workloads[0].axes, "batch": len(LAST), "pages": 16, "pages_each": 4}
    state = draw(DEFINITION.state, axes, torch.float32, "cpu")
    inputs = draw(DEFINITION.inputs, axes, torch.float32, "cpu")
    inputs["last"] = torch.tensor(LAST, dtype=torch.int32)
    # Every sequence has pages of its own.
    inputs["page_table"] = torch.arange(16, dtype=torch.int32).view(4, 4)
    expected = solutions.reference(OPERATOR).reference(state, inputs, axes)
    for pool in (state["cache_k"], state["cache_v"]):
        for sequence, last in enumerate(LAST):
            pages = pool[4 * sequence : 4 * sequence + 4].view(torch.uint8)
            for token in range(last + 1, 4 * PAGE):
                pages[token // PAGE, :, token % PAGE] = 0x7F  # NaN
    out = poisoned(DEFINITION.outputs, axes, torch.float32)
    solution = solutions.named(OPERATOR, name)

    solution.run(solution.prepare(state, axes), inputs, out)

    right, words = compare(out["out"], expected["out"], DEFINITION.tolerances["float32"])
    assert right, words


@pytest.mark.parametrize("name", ["torch_online", "triton_latent"])
def test_latents_after_the_last_entry_may_hold_anything(name: str) -> None:
    torch.manual_seed(7)
    what = catalogue.definition("mla_decode")
    axes = {**catalogue.presets("mla_decode")["tiny"].workloads[0].axes, "batch": 3, "pages": 9}
    state = draw(what.state, axes, torch.float32, "cpu")
    inputs = draw(what.inputs, axes, torch.float32, "cpu")
    inputs["last"] = torch.tensor([0, PAGE - 1, PAGE], dtype=torch.int32)
    inputs["page_table"] = torch.arange(9, dtype=torch.int32).view(3, 3)
    expected = solutions.reference("mla_decode").reference(state, inputs, axes)
    rows = state["cache"].view(3, 3 * PAGE, -1)
    for sequence, last in enumerate(inputs["last"].tolist()):
        rows[sequence, last + 1 :] = float("nan")
    out = poisoned(what.outputs, axes, torch.float32)
    solution = solutions.named("mla_decode", name)

    solution.run(solution.prepare(state, axes), inputs, out)

    right, words = compare(out["out"], expected["out"], what.tolerances["float32"])
    assert right, words


def test_a_cached_token_costs_a_byte_a_number() -> None:
    axes = PRESETS["h200"].workloads[0].axes
    tokens = axes["batch"] * (axes["context_len"] + 1) // 2
    numbers = tokens * 2 * axes["kv_heads"] * axes["head_dim"]
    assert bytes_moved(axes, "bfloat16") == pytest.approx(numbers, rel=5e-3)
    assert catalogue.flops(OPERATOR, axes) < 32 * numbers
