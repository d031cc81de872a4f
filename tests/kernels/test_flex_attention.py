"""FlexAttention as a baseline: uncompiled at every size, compiled for the processor in `make soak`.

Compiling takes g++ 10 to 50 s a baseline. Uncompiled, torch applies a mask's rule to every pair
and ignores its lists of blocks, so these are compared by themselves.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernels import catalogue, solutions
from kernels.sparse_mask_attention.reference import allowed
from kernels.trials import compare, draw
from tests.kernels.drawing import poisoned, sizes_of

ONE, FEW, SMALL = "everything free is one", "few", "odd and small"
ODD, TINY = "odd", "the tiny workload"
SPARSE = "sparse_mask_attention"
BASELINES = [
    (operator, name)
    for operator in catalogue.operators()
    for name in catalogue.baselines(operator)
    if name.startswith("flex_")
]


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(19)


@pytest.mark.parametrize(("operator", "name"), BASELINES)
@pytest.mark.parametrize("size", [ONE, FEW, SMALL, ODD, TINY])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_flex_attention_agrees_with_the_reference(
    operator: str, name: str, size: str, dtype: str
) -> None:
    axes = sizes_of(operator)[size]
    if operator == SPARSE:
        axes |= {"window_blocks": axes["blocks"]}
    with torch.compiler.set_stance("force_eager"):
        _assert_right(operator, name, axes, dtype)


def test_flex_attentions_lists_name_the_blocks_that_the_mask_keeps() -> None:
    axes = sizes_of(SPARSE)[TINY]
    state = draw(catalogue.definition(SPARSE).state, axes, torch.float32, "cpu")
    kept = allowed(state["keep"], axes)
    assert not kept.tril().equal(torch.ones_like(kept).tril())

    prepared: Any = solutions.baseline(SPARSE, "flex_attention").prepare(state, axes)

    assert prepared.block_mask.to_dense().squeeze().bool().equal(kept)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("operator", "name"), BASELINES)
def test_compiled_flex_attention_agrees_with_the_reference(operator: str, name: str) -> None:
    size = TINY if operator == SPARSE else SMALL
    _assert_right(operator, name, sizes_of(operator)[size], "float32")


def _assert_right(operator: str, name: str, axes: dict[str, int], dtype: str) -> None:
    what, kind = catalogue.definition(operator), getattr(torch, dtype)
    state, inputs = draw(what.state, axes, kind, "cpu"), draw(what.inputs, axes, kind, "cpu")
    out = poisoned(what.outputs, axes, kind)
    solution = solutions.baseline(operator, name)

    solution.run(solution.prepare(state, axes), inputs, out)

    expected = solutions.reference(operator).reference(state=state, inputs=inputs, axes=axes)
    for result, tensor in expected.items():
        right, words = compare(out[result], tensor, what.tolerances[dtype])
        assert right, words
