"""What one gets off the shelf: cuBLAS through torch, and inductor's choice of it or a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


def _as_it_is(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    return state["b"]


def _run_matmul(b: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    torch.matmul(inputs["a"], b, out=out["c"])


def matmul() -> Solution:
    """torch.matmul, straight into the output."""
    return Solution(name="matmul", prepare=_as_it_is, run=_run_matmul)


def compiled() -> Solution:
    """torch.matmul under torch.compile, every template of inductor's tried beside cuBLAS."""
    if not torch.cuda.is_available():
        raise NotAvailable("inductor's templates of a matrix product need a CUDA GPU")
    product = torch.compile(torch.matmul, dynamic=False, mode="max-autotune-no-cudagraphs")

    def run(b: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["c"].copy_(product(inputs["a"], b))

    return Solution(name="compiled", prepare=_as_it_is, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {"matmul": matmul, "compiled": compiled}
