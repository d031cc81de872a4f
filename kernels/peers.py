"""Memory of a GPU that the other ranks of its group read and write directly.

By torch's symmetric memory, over NVLink or PCIe; multicast is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from kernels.definition import NotAvailable


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A rank's buffer of zeros, and the buffers' addresses on all ranks, in device memory.

    `counts` are the rank's own: calls so far, by row.
    """

    buffer: Tensor
    addresses: Tensor
    counts: Tensor
    rank: int


_KEPT: dict[tuple[str, int], Workspace] = {}


def workspace(name: str, nbytes: int, rows: int) -> Workspace:
    """The group's buffers of this name and size; all ranks must ask in the same order.

    A name belongs to one kernel, whose calls the counts and the flags in the buffer follow.

    Raises NotAvailable without GPUs or a group.
    """
    if not torch.cuda.is_available() or not dist.is_initialized():
        raise NotAvailable("peer memory needs one GPU a rank and an initialised group")
    key = name, nbytes
    if key not in _KEPT:
        import torch.distributed._symmetric_memory as symmetric

        buffer = symmetric.empty(nbytes, dtype=torch.uint8, device=_here())
        buffer.zero_()
        world = dist.group.WORLD
        assert world is not None
        handle = symmetric.rendezvous(buffer, world)
        torch.cuda.synchronize()
        # No rank may write before every buffer is zero.
        dist.barrier()
        addresses = torch.tensor(handle.buffer_ptrs, dtype=torch.int64, device=_here())
        counts = torch.zeros(rows, dtype=torch.int32, device=_here())
        _KEPT[key] = Workspace(
            buffer=buffer, addresses=addresses, counts=counts, rank=dist.get_rank()
        )
    return _KEPT[key]


def _here() -> torch.device:
    return torch.device("cuda", torch.cuda.current_device())
