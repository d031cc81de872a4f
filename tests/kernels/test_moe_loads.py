"""What makes this operator hard: loads as uneven as Zipf's law, in fresh inputs every time."""

from __future__ import annotations

import pytest
import torch

from kernels import catalogue, solutions
from kernels.moe_routing.choice import Router
from kernels.moe_routing.dispatch import Dispatch, most_tiles
from kernels.moe_routing.op import DEEPSEEK_V2_LITE, busy_experts
from kernels.trials import draw

CPU = torch.device("cpu")
EVEN = {"experts": 5, "top_k": 2, "tokens": 21, "hidden": 12, "inner": 8, "zipf_percent": 120}


def _logits(axes: dict[str, int]) -> torch.Tensor:
    specs = catalogue.definition("moe_routing").inputs
    return draw(specs, axes, torch.float32, "cpu")["router_logits"]


def _loads(axes: dict[str, int]) -> torch.Tensor:
    _, chosen = Router.of(axes, CPU).choose(_logits(axes))
    return torch.bincount(chosen.flatten(), minlength=axes["experts"])


@pytest.mark.parametrize("seed", range(3))
def test_the_busiest_expert_has_more_than_nine_times_the_mean(seed: int) -> None:
    torch.manual_seed(seed)
    loads = _loads({**DEEPSEEK_V2_LITE, "tokens": 4096, "hidden": 1})
    assert 9.0 < float(loads.max() / loads.float().mean()) < 10.2
    assert int(loads.sum()) == 4096 * 6


def test_an_exponent_of_zero_is_an_even_load() -> None:
    torch.manual_seed(0)
    loads = _loads({**DEEPSEEK_V2_LITE, "tokens": 4096, "hidden": 1, "zipf_percent": 0})
    assert float(loads.max() / loads.float().mean()) < 1.3


def test_all_experts_are_busy_with_a_prompt_and_few_with_one_token() -> None:
    axes = {**DEEPSEEK_V2_LITE, "tokens": 4096}
    assert busy_experts(axes) == pytest.approx(64, abs=0.5)
    assert busy_experts({**axes, "tokens": 1}) <= 6


def test_choices_sorted_by_expert_begin_at_the_returned_offsets() -> None:
    router = Router.of(EVEN, CPU)
    _, chosen = router.choose(_logits(EVEN))
    order, begins = router.sort(chosen)
    assert begins[0] == 0
    assert begins[-1] == chosen.numel()
    for expert in range(5):
        mine = chosen.flatten()[order[begins[expert] : begins[expert + 1]]]
        assert (mine == expert).all()


@pytest.mark.parametrize("tokens", [1, 21, 40])
@pytest.mark.parametrize("zipf_percent", [0, 120, 900])
def test_no_tile_has_rows_of_two_experts(tokens: int, zipf_percent: int) -> None:
    torch.manual_seed(tokens)
    axes = {**EVEN, "tokens": tokens, "zipf_percent": zipf_percent}
    block_m = 16
    dispatch = Dispatch.of(axes, CPU, block_m)
    x = torch.randn(tokens, 12)
    rows = torch.full((most_tiles(axes, block_m) * block_m, 12), float("nan"))

    dispatch.scatter({"x": x, "router_logits": _logits(axes)}, rows)

    used = dispatch.row.flatten()
    assert len(used.unique()) == tokens * 2
    assert torch.equal(dispatch.expert_of[dispatch.row.long() // block_m], dispatch.chosen)
    assert torch.equal(rows[dispatch.row.long()], x[:, None].expand(-1, 2, -1))
    count = int(dispatch.tiles)
    filled = torch.bincount(used.long() // block_m, minlength=count)
    assert torch.equal(dispatch.filled[:count].long(), filled)
    assert int(used.max()) < count * block_m


def test_all_tokens_on_the_same_experts_fit_in_the_scratch() -> None:
    axes = {**EVEN, "tokens": 64}
    logits = torch.zeros(64, 5)
    logits[:, 3:] = 100.0
    dispatch = Dispatch.of(axes, CPU, 16)
    dispatch.scatter(
        {"x": torch.randn(64, 12), "router_logits": logits},
        torch.empty(most_tiles(axes, 16) * 16, 12),
    )
    assert dispatch.loads.tolist() == [0, 0, 0, 64, 64]
    assert int(dispatch.tiles) == 8 <= len(dispatch.expert_of)


def test_an_expert_left_out_shows_in_the_step() -> None:
    """The router computes in fp32 on the step's own input, so that nothing else can differ."""
    torch.manual_seed(5)
    what = catalogue.definition("moe_routing")
    axes = dict(catalogue.presets("moe_routing")["tiny"].workloads[0].axes)
    state = draw(what.program_state, axes, torch.bfloat16, "cpu")
    inputs = draw(what.program_inputs, axes, torch.bfloat16, "cpu")
    expected = solutions.reference("moe_routing").reference_step(
        state=state, inputs=inputs, axes=axes
    )
    honest = solutions.candidate("moe_routing/torch_sorted")

    def off_by(dropped: int | None) -> float:
        w_down = state["w_down"].clone()
        if dropped is not None:
            w_down[dropped] = 0.0
        out = {"y": torch.empty_like(inputs["x"])}
        step = solutions.program("moe_routing").Step(
            solution=honest, state={**state, "w_down": w_down}, axes=axes
        )
        step(inputs, out)
        return float((out["y"].double() - expected["y"]).abs().max())

    cap = what.tolerances["bfloat16"].hard_cap_abs
    assert off_by(None) < what.tolerances["bfloat16"].max_abs * 2
    assert all(off_by(expert) > cap for expert in range(2))
