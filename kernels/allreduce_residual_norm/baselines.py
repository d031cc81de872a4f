"""What one gets off the shelf: torch.distributed's collectives, then torch's norm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

EPS = 1e-5


def _residual_and_norm(
    x: Tensor, residual: Tensor, weight: Tensor, kept: Tensor, normed: Tensor
) -> None:
    kept.copy_(x + residual)
    wide = F.rms_norm(kept.float(), weight.shape, weight.float(), EPS)
    normed.copy_(wide)


def _require_gpu() -> None:
    if not torch.cuda.is_available():
        raise NotAvailable("this baseline is measured on CUDA GPUs only")


def _compiled() -> Callable[..., None]:
    every: dict[str, Any] = {"emulate_precision_casts": True}
    made: Callable[..., None] = torch.compile(_residual_and_norm, dynamic=False, options=every)
    return made


def _by_collective(name: str, finish: Callable[..., None]) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
        return state["weight"]

    def run(weight: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        # A collective overwrites its input, which belongs to the caller.
        summed = out["normed"]
        summed.copy_(inputs["x"])
        dist.all_reduce(summed)
        finish(summed, inputs["residual"], weight, out["sum"], summed)

    return Solution(name=name, prepare=prepare, run=run)


def all_reduce() -> Solution:
    """All-reduce, sum and norm, one after the other."""
    return _by_collective("all_reduce", _residual_and_norm)


def all_reduce_compiled() -> Solution:
    """All-reduce, then sum and norm in one compiled kernel."""
    _require_gpu()
    return _by_collective("all_reduce_compiled", _compiled())


def symmetric_memory() -> Solution:
    """torch's one-shot all-reduce over peer memory, then sum and norm in one compiled kernel."""
    _require_gpu()
    import torch.distributed._symmetric_memory as symmetric

    finish = _compiled()
    buffers: dict[tuple[int, ...], Tensor] = {}

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
        weight = state["weight"]
        shape = axes["tokens"], axes["hidden"]
        if shape not in buffers:
            made = symmetric.empty(shape, dtype=weight.dtype, device=weight.device)
            symmetric.rendezvous(made, dist.group.WORLD)
            buffers[shape] = made
        return weight, buffers[shape], torch.empty_like(buffers[shape])

    def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        weight, shared, summed = prepared
        group = dist.group.WORLD.group_name
        torch.ops.symm_mem.one_shot_all_reduce_copy_out(shared, inputs["x"], "sum", group, summed)
        finish(summed, inputs["residual"], weight, out["sum"], out["normed"])

    return Solution(name="symmetric_memory", prepare=prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "all_reduce": all_reduce,
    "all_reduce_compiled": all_reduce_compiled,
    "symmetric_memory": symmetric_memory,
}
