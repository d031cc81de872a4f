"""The mask: what each block sees, what that costs, and that all of it decides the answer."""

from __future__ import annotations

import pytest
import torch

from kernels import catalogue, solutions
from kernels.sparse_mask_attention.op import pairs
from kernels.sparse_mask_attention.reference import allowed, reference
from kernels.trials import compare, draw

OPERATOR = "sparse_mask_attention"


def _tiny() -> dict[str, int]:
    return dict(catalogue.presets(OPERATOR)["tiny"].workloads[0].axes)


def test_a_block_sees_near_first_and_chosen_blocks() -> None:
    keep = torch.ones(6, 6)
    keep[5, 2] = keep[1, 4] = 0.0
    seen = allowed(keep, {"window_blocks": 2, "global_blocks": 1, "kept_percent": 10})
    assert [row.nonzero().flatten().tolist() for row in seen] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 2, 3],
        [0, 3, 4],
        [0, 2, 4, 5],
    ]


def test_pairs_are_those_of_the_mask_where_nothing_is_left_to_chance() -> None:
    for percent, kept in ((0, 1.0), (100, 0.0)):
        axes = {**_tiny(), "kept_percent": percent}
        seen = allowed(torch.full((axes["blocks"], axes["blocks"]), kept), axes)
        size = axes["block"]
        by_token = seen.repeat_interleave(size, 0).repeat_interleave(size, 1).tril()
        assert pairs(axes) == int(by_token.sum())


@pytest.mark.parametrize("name", ["torch_gathered", "triton_block_sparse"])
@pytest.mark.parametrize("rule", [{"kept_percent": 0}, {"window_blocks": 1}, {"global_blocks": 0}])
def test_blocks_left_out_show_in_the_answer(name: str, rule: dict[str, int]) -> None:
    torch.manual_seed(2)
    what, axes = catalogue.definition(OPERATOR), _tiny()
    state = draw(what.state, axes, torch.float32, "cpu")
    inputs = draw(what.inputs, axes, torch.float32, "cpu")
    out = {"out": torch.empty_like(inputs["q"])}
    expected = reference(state, inputs, axes)["out"]
    solution = solutions.candidate(f"{OPERATOR}/{name}")

    solution.run(solution.prepare(state, axes), inputs, out)
    assert compare(out["out"], expected, what.tolerances["float32"])[0]
    solution.run(solution.prepare(state, {**axes, **rule}), inputs, out)
    assert not compare(out["out"], expected, what.tolerances["bfloat16"])[0]
