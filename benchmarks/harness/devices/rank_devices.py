"""Devices of several ranks as the referee sees them: one memory, a share of it on each."""

import mmap
import os

from benchmarks.harness.devices.arenas import Device, Handle
from benchmarks.harness.devices.cpu import CpuArena, CpuDevice
from benchmarks.harness.devices.rank_layouts import AXIS
from benchmarks.harness.failures import SetupError


class RankedCpuDevice(CpuDevice):
    """The processors of this machine, shared by all ranks."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks

    def allocate(self, nbytes: int, *, read_only: bool) -> CpuArena:
        whole = -(-nbytes // (self.ranks * mmap.PAGESIZE)) * self.ranks * mmap.PAGESIZE
        descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, whole)
        arena = _SharedArena(descriptor, whole, writable=True)
        arena.ranks = self.ranks
        arena.seal(writable=not read_only)
        return arena

    def side_memory_bytes(self, pid: int) -> int | None:
        """Unknown for several processes; the referee measures free memory instead."""
        return None


class _SharedArena(CpuArena):
    """A memfd of which each rank maps its own share."""

    ranks = 1

    def handle(self) -> tuple[Handle, list[int]]:
        whole, (descriptor,) = super().handle()
        share = whole["nbytes"] // self.ranks
        handles = [{**whole, "nbytes": share, "offset": rank * share} for rank in range(self.ranks)]
        return {AXIS: handles}, [descriptor] * self.ranks


def of_referee(kind: str, ranks: int) -> Device:
    """The device of a referee with several ranks. Raises SetupError where there are too few."""
    if kind == "cpu":
        return RankedCpuDevice(ranks)
    import torch

    if torch.cuda.device_count() < ranks:
        raise SetupError(
            f"the benchmark needs {ranks} GPUs, and {torch.cuda.device_count()} are visible here"
        )
    from benchmarks.harness.devices.rank_cuda import RankedCudaDevice

    return RankedCudaDevice(ranks)


def of_rank(kind: str, rank: int) -> Device:
    """The device of one rank's process."""
    if kind == "cpu":
        return CpuDevice()
    from benchmarks.harness.devices.rank_cuda import CudaDeviceOfRank

    return CudaDeviceOfRank(rank)
