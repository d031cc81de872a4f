"""The tiling of the ladder said in torch: sums over slices of the reduction, added up in place.

Each slice is a product by the library, so this teaches the loop and gains nothing: the sum goes
through memory once a slice, and in 16 bits it would be rounded there, hence the fp32 scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

DEPTH = 1024


@dataclass(frozen=True)
class _Prepared:
    slices: tuple[Tensor, ...]  # [batch, up to DEPTH, n] each, in fp32
    total: Tensor  # [batch, m, n] in fp32


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """`b` in slices of its rows, and room for the sums."""
    b = state["b"].float()
    return _Prepared(
        slices=b.split(DEPTH, 1),
        total=b.new_empty(axes["batch"], axes["m"], axes["n"]),
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One product; writes all of out["c"] [batch, m, n]."""
    for index, b in enumerate(prepared.slices):
        a = inputs["a"].narrow(2, index * DEPTH, b.shape[1]).float()
        if index == 0:
            torch.bmm(a, b, out=prepared.total)
        else:
            prepared.total.baddbmm_(a, b)
    out["c"].copy_(prepared.total)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The gradients of a product are two products."""
    return {
        "a": grads["c"] @ state["b"].transpose(1, 2),
        "b": inputs["a"].transpose(1, 2) @ grads["c"],
    }
