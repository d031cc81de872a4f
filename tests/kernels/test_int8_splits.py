"""The int8 linear layer's sums may be split over programs: every cut gives the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from kernels import catalogue, solutions, tuning
from kernels.trials import compare, draw

OPERATOR = "int8_linear"
CUTS = 7


@pytest.mark.parametrize("place", range(CUTS))
@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.soak), 7])
def test_every_cut_is_right_and_leaves_its_counters_at_zero(
    place: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(*, configs: Sequence[Any], **_: Any) -> Any:
        assert len(configs) == CUTS
        return configs[place]

    monkeypatch.setattr(tuning, "best", chosen)
    torch.manual_seed(4)
    what = catalogue.definition(OPERATOR)
    axes = {"batch": batch, "in_features": 528, "out_features": 136}
    state = draw(what.state, axes, torch.float32, "cpu")
    solution = solutions.candidate(f"{OPERATOR}/triton_fused")
    prepared = solution.prepare(state, axes)
    # Twice: the second call begins with the counters that the first one left.
    for _ in range(2):
        inputs = draw(what.inputs, axes, torch.float32, "cpu")
        out = {"out": torch.full((batch, 136), float("nan"))}
        solution.run(prepared, inputs, out)
        expected = solutions.reference(OPERATOR).reference(state, inputs, axes)["out"]
        right, words = compare(out["out"], expected, what.tolerances["float32"])
        assert right, words
