"""Rows by torch.index_select, and the table's gradient by torch's own scatter."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """The table as it is."""
    return state["table"]


def run(table: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, seq_len, hidden]."""
    torch.index_select(table, 0, inputs["ids"].reshape(-1), out=out["out"].flatten(0, 1))


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Every token's gradient, added to its row of the table."""
    rows = axes["vocab"]
    return {
        "table": torch.ops.aten.embedding_dense_backward(
            grads["out"], inputs["ids"], rows, -1, False
        )
    }
