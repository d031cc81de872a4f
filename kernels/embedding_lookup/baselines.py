"""What one gets off the shelf: torch's lookups."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


def _table(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    return state["table"]


def torch_embedding() -> Solution:
    """F.embedding, which allocates its result: a copy brings it to the output."""

    def run(table: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["out"].copy_(F.embedding(inputs["ids"], table))

    return Solution(name="torch_embedding", prepare=_table, run=run)


def index_select() -> Solution:
    """torch.index_select straight into the output: what F.embedding does, without the copy."""

    def run(table: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.index_select(table, 0, inputs["ids"].reshape(-1), out=out["out"].flatten(0, 1))

    return Solution(name="index_select", prepare=_table, run=run)


def compiled() -> Solution:
    """F.embedding as torch.compile makes it: on a GPU a Triton kernel."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")

    @torch.compile(dynamic=False)
    def look_up(table: Tensor, ids: Tensor, out: Tensor) -> None:
        out.copy_(F.embedding(ids, table))

    def run(table: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        look_up(table, inputs["ids"], out["out"])

    return Solution(name="compiled", prepare=_table, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "torch_embedding": torch_embedding,
    "index_select": index_select,
    "compiled": compiled,
}
