"""The shared prompt by the copy engine and in larger tiles: the same answer at every cut."""

from __future__ import annotations

import pytest
import torch

from kernels import catalogue, llama, solutions
from kernels.trials import compare, draw

OPERATOR = "shared_prefix_attention"
MODEL = {"heads": 4, "kv_heads": 1, "head_dim": 16, "hidden": 24, "ffn": 40}


@pytest.mark.parametrize("cut", ["m64 n64 p264 w4 s3 bulk", "m128 n128 p132 w8 s2 bulk"])
# Not whole blocks: the engine is left out, and what lies behind the prompt's end is masked.
@pytest.mark.parametrize("prefix_len", [256, 200])
def test_every_cut_gives_the_same_answer(cut: str, prefix_len: int) -> None:
    torch.manual_seed(6)
    what = catalogue.definition(OPERATOR)
    axes = llama.sized(MODEL, layers=1, batch=17, prefix_len=prefix_len, own_len=5)
    state, inputs = (draw(specs, axes, torch.float32, "cpu") for specs in (what.state, what.inputs))
    module = solutions.module_of(catalogue.candidates(OPERATOR)["triton_cascade"])
    out = {"out": torch.full((17, 4, 16), float("nan"))}

    module.run(module.prepare(state, axes, module.variants(2)[cut]), inputs, out)

    expected = solutions.reference(OPERATOR).reference(state, inputs, axes)["out"]
    right, words = compare(out["out"], expected, what.tolerances["float32"])
    assert right, words
