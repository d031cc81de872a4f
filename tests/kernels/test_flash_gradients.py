"""The backward pass in Triton against autograd through the reference, at awkward sizes."""

from __future__ import annotations

import pytest
import torch

from kernels import catalogue, llama, solutions
from kernels.flash_attention import reference
from kernels.trials import draw

OPERATOR = "flash_attention"


@pytest.mark.parametrize(
    ("batch", "seq_len", "heads", "kv_heads", "width"),
    [(1, 1, 1, 1, 2), (2, 77, 6, 2, 40), (1, 130, 2, 1, 64)],
)
def test_gradients_are_those_of_the_formula(
    batch: int, seq_len: int, heads: int, kv_heads: int, width: int
) -> None:
    torch.manual_seed(5)
    model = {"heads": heads, "kv_heads": kv_heads, "head_dim": width, "hidden": 24}
    axes = llama.sized(model, layers=1, batch=batch, seq_len=seq_len)
    inputs = draw(catalogue.definition(OPERATOR).inputs, axes, torch.float32, "cpu")
    leaves = {name: x.double().requires_grad_() for name, x in inputs.items()}
    out = reference.reference({}, leaves, axes)["out"]
    grad = torch.randn_like(out)
    expected = torch.autograd.grad(out, list(leaves.values()), grad)
    solution = solutions.candidate(f"{OPERATOR}/triton_flash")
    assert solution.gradients is not None

    got = solution.gradients({}, inputs, {"out": out.detach().float()}, {"out": grad.float()}, axes)

    for name, wanted in zip(leaves, expected, strict=True):
        torch.testing.assert_close(got[name].double(), wanted, atol=5e-5, rtol=1e-4)
