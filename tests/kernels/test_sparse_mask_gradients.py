"""The backward pass under a block mask against autograd through the reference, mask by mask."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kernels import catalogue, registration, solutions
from kernels.sparse_mask_attention.backward import _listed
from kernels.sparse_mask_attention.reference import reference
from kernels.trials import draw

OPERATOR = "sparse_mask_attention"
CANDIDATE = "triton_block_sparse"
RULE = {"window_blocks": 1, "global_blocks": 0, "kept_percent": 30}
ODD = {"batch": 1, "blocks": 3, "block": 16, "heads": 3, "kv_heads": 1, "head_dim": 24, **RULE}
ONE = {"batch": 1, "blocks": 1, "block": 16, "heads": 1, "kv_heads": 1, "head_dim": 2, **RULE}
# Largest difference as a share of the largest gradient: roundings of the tiles between products.
BOUNDS = {torch.float32: 2e-5, torch.float16: 4e-3}


def _drawn(axes: dict[str, int], kind: torch.dtype) -> tuple[dict[str, Tensor], Tensor]:
    torch.manual_seed(11)
    inputs = draw(catalogue.definition(OPERATOR).inputs, axes, kind, "cpu")
    return inputs, torch.randn(inputs["q"].shape).to(kind)


def _expected(
    keep: Tensor, inputs: dict[str, Tensor], grad: Tensor, axes: dict[str, int]
) -> dict[str, Tensor]:
    leaves = {name: x.double().requires_grad_() for name, x in inputs.items()}
    out = reference({"keep": keep}, leaves, axes)["out"]
    found = torch.autograd.grad(out, list(leaves.values()), grad.double())
    return dict(zip(leaves, found, strict=True))


def _assert_close(got: dict[str, Tensor], wanted: dict[str, Tensor], bound: float) -> None:
    assert set(got) == {"q", "k", "v"}
    largest = max(float(x.abs().max()) for x in wanted.values())
    for name, x in wanted.items():
        assert (got[name].double() - x).abs().max() <= bound * largest, name


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        pytest.param({**ODD, "batch": 2}, torch.float32, id="three heads a group, an uneven width"),
        pytest.param({**ODD, "kept_percent": 0}, torch.float32, id="rows see their own block only"),
        pytest.param({**ODD, "block": 64, "heads": 1}, torch.float32, id="blocks of several tiles"),
        pytest.param(
            {**ODD, "block": 128, "heads": 1, "blocks": 2}, torch.float16, id="tiles in 16 bits"
        ),
        pytest.param(ONE, torch.float32, id="one block of one head"),
        pytest.param(ONE, torch.float16, id="one block of one head in 16 bits"),
    ],
)
def test_gradients_are_those_of_the_formula(sizes: dict[str, int], kind: torch.dtype) -> None:
    inputs, grad = _drawn(sizes, kind)
    keep = torch.rand(sizes["blocks"], sizes["blocks"])
    out = reference({"keep": keep}, inputs, sizes)["out"].to(kind)
    solution = solutions.candidate(f"{OPERATOR}/{CANDIDATE}")
    assert solution.gradients is not None

    got = solution.gradients({"keep": keep}, inputs, {"out": out}, {"out": grad}, sizes)

    _assert_close(dict(got), _expected(keep, inputs, grad, sizes), BOUNDS[kind])


def test_a_column_seen_by_its_own_block_alone_gets_gradients() -> None:
    axes = {**ODD, "blocks": 4, "heads": 2, "kv_heads": 2}
    # Block 1 is seen by itself alone, block 2 sees all there is before it.
    keep = torch.ones(4, 4)
    keep[2, 0] = keep[3, 0] = keep[3, 2] = 0.0
    inputs, grad = _drawn(axes, torch.float32)
    out = reference({"keep": keep}, inputs, axes)["out"].float()
    solution = solutions.candidate(f"{OPERATOR}/{CANDIDATE}")
    assert solution.gradients is not None
    # As a layer behind it may hand it on: not dense along its last axis, with gaps between blocks.
    strided = grad.transpose(3, 4).contiguous().transpose(3, 4)
    apart = {name: torch.stack([x, x], 2)[:, :, 0] for name, x in inputs.items()}

    got = solution.gradients({"keep": keep}, apart, {"out": out}, {"out": strided}, axes)

    _assert_close(dict(got), _expected(keep, inputs, grad, axes), BOUNDS[torch.float32])


def test_the_registered_operator_is_differentiated_by_torch() -> None:
    axes = {**ODD, "heads": 1}
    inputs, grad = _drawn(axes, torch.float32)
    keep = torch.rand(3, 3)
    attend = registration.register(OPERATOR, CANDIDATE)
    leaves = {name: x.clone().requires_grad_() for name, x in inputs.items()}
    numbers = [axes[name] for name in registration.scalars(catalogue.definition(OPERATOR))]

    attend(keep, *leaves.values(), *numbers).backward(grad)

    got = {name: x.grad for name, x in leaves.items() if x.grad is not None}
    _assert_close(got, _expected(keep, inputs, grad, axes), BOUNDS[torch.float32])


def test_lists_have_the_true_columns_by_row_and_the_longest_row_first() -> None:
    seen = torch.tensor([[True, False, False], [False, False, False], [True, False, True]])
    begins, places, order = _listed(seen)
    assert begins.tolist() == [0, 1, 1, 3]
    assert places[:3].tolist() == [0, 0, 2]
    assert order[0] == 2
