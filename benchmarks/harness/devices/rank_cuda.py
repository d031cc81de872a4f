"""CUDA devices of several ranks: memory on every GPU, adjacent in the referee's address space.

The referee reads and writes all ranks' memory from its first GPU, over the link between them. Each
rank gets a file descriptor of its own share alone, and maps it on its own GPU. Multicast is never
used: it can put the GPUs of a shared host out of service.
"""

import os
from typing import Any, Literal

import torch
from cuda.bindings import driver

from benchmarks.harness.devices.arenas import Handle
from benchmarks.harness.devices.cuda import CudaDevice, DeviceBytes
from benchmarks.harness.devices.rank_layouts import AXIS, SHARE_BYTES
from benchmarks.harness.failures import DeviceFailed

_BY_DESCRIPTOR = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def _must(answer: tuple[Any, ...]) -> Any:
    """The value of a driver call. Raises DeviceFailed with CUDA's error."""
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(error)
        reason = text.decode() if isinstance(text, bytes) else str(text)
        raise DeviceFailed(f"CUDA error {int(error)}: {reason}")
    return values[0] if values else None


class _Mapping:
    """A range of addresses with one allocation a share, readable and writable from one GPU."""

    def __init__(self, handles: list[Any], share: int, gpu: int) -> None:
        self._handles = handles
        self._share = share
        self.nbytes = share * len(handles)
        self.address = int(_must(driver.cuMemAddressReserve(self.nbytes, 0, 0, 0)))
        for rank, handle in enumerate(handles):
            _must(driver.cuMemMap(self.address + rank * share, share, 0, handle, 0))
        access = driver.CUmemAccessDesc()
        access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = gpu
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        _must(driver.cuMemSetAccess(self.address, self.nbytes, [access], 1))

    def close(self) -> None:
        for rank, handle in enumerate(self._handles):
            _must(driver.cuMemUnmap(self.address + rank * self._share, self._share))
            _must(driver.cuMemRelease(handle))
        _must(driver.cuMemAddressFree(self.address, self.nbytes))


class _Arena:
    """Memory of a mapping; `descriptors` open the shares elsewhere."""

    def __init__(self, mapping: _Mapping, gpu: int, descriptors: list[int]) -> None:
        self._mapping = mapping
        self._descriptors = descriptors
        self._gpu = gpu
        self.memory = torch.as_tensor(
            DeviceBytes(mapping.address, mapping.nbytes), device=f"cuda:{gpu}"
        )

    def handle(self) -> tuple[Handle, list[int]]:
        share = self._mapping.nbytes // len(self._descriptors)
        return {AXIS: [{"nbytes": share}] * len(self._descriptors)}, self._descriptors

    def close(self) -> None:
        torch.cuda.synchronize(self._gpu)
        self.memory = torch.empty(0, dtype=torch.uint8)
        self._mapping.close()
        for descriptor in self._descriptors:
            os.close(descriptor)


class RankedCudaDevice(CudaDevice):
    """The first `ranks` visible GPUs, seen from the first."""

    def __init__(self, ranks: int) -> None:
        super().__init__()
        self.ranks = ranks
        lacking = [gpu for gpu in range(1, ranks) if not torch.cuda.can_device_access_peer(0, gpu)]
        if lacking:
            raise RuntimeError(f"GPU 0 has no peer access to GPU {lacking[0]}")
        for gpu in range(ranks):
            # Memory on a GPU needs its context.
            torch.zeros(1, device=f"cuda:{gpu}")

    def cache_bytes(self) -> int | None:
        """The size of all ranks' L2."""
        one = super().cache_bytes()
        return None if one is None else one * self.ranks

    def free_bytes(self) -> int:
        """The least free memory of a GPU, times the ranks."""
        return self.ranks * min(int(torch.cuda.mem_get_info(gpu)[0]) for gpu in range(self.ranks))

    def allocate(self, nbytes: int, *, read_only: bool) -> Any:
        """One allocation a rank; writes by a side are detected, not prevented."""
        share = max(1, -(-nbytes // (self.ranks * SHARE_BYTES))) * SHARE_BYTES
        handles = [_must(driver.cuMemCreate(share, _on(gpu), 0)) for gpu in range(self.ranks)]
        mapping = _Mapping(handles, share, 0)
        descriptors = [
            int(_must(driver.cuMemExportToShareableHandle(handle, _BY_DESCRIPTOR, 0)))
            for handle in handles
        ]
        return _Arena(mapping, 0, descriptors)

    def synchronize(self) -> None:
        for gpu in range(self.ranks):
            torch.cuda.synchronize(gpu)


def _on(gpu: int) -> Any:
    """The properties of memory on one GPU that a descriptor can share."""
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.location.id = gpu
    wanted.requestedHandleTypes = _BY_DESCRIPTOR
    return wanted


class CudaDeviceOfRank(CudaDevice):
    """One rank's GPU, in its own process, which sees the others, too."""

    kind: Literal["cpu", "cuda"] = "cuda"

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self._rank = rank

    def open(self, handle: Handle, descriptors: list[int]) -> Any:
        """Map this rank's share; takes over its descriptor."""
        (descriptor,) = descriptors
        memory = _must(driver.cuMemImportFromShareableHandle(descriptor, _BY_DESCRIPTOR))
        os.close(descriptor)
        return _Arena(_Mapping([memory], handle["nbytes"], self._rank), self._rank, [])
