"""CUDA back end: one cudaMalloc an arena, opened in a side by its raw 64-byte IPC handle.

`torch.multiprocessing` is no way here: its handle exposes the whole allocator segment that a
tensor happens to lie in, so that a reference beside an output would be readable.
"""

from __future__ import annotations

import ctypes
from typing import Any, Literal

import torch
from cuda.bindings import runtime as cudart

from benchmarks.harness.devices.arenas import Handle
from benchmarks.harness.failures import DeviceFailed

# cudaMalloc serves small requests out of shared 2 MiB blocks, and an IPC handle opens the
# whole block: rounding up gives each arena blocks of its own.
_BLOCK_BYTES = 2 << 20
_HANDLE_BYTES = 64


def _must(answer: tuple[Any, ...]) -> Any:
    """The value of a runtime call; DeviceFailed with CUDA's own text when it failed."""
    error, *values = answer
    if error != cudart.cudaError_t.cudaSuccess:
        _, text = cudart.cudaGetErrorString(error)
        reason = text.decode() if isinstance(text, bytes) else str(text)
        raise DeviceFailed(f"CUDA error {int(error)}: {reason}")
    return values[0] if values else None


class _DeviceBytes:
    """Device memory in the form that `torch.as_tensor` takes without copying."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


class CudaArena:
    """Device memory that this process allocated, or opened from a handle."""

    def __init__(self, address: int, nbytes: int, *, opened: bool) -> None:
        self._address = address
        self._nbytes = nbytes
        self._opened = opened
        self.memory = torch.as_tensor(_DeviceBytes(address, nbytes), device="cuda")

    def handle(self) -> tuple[Handle, list[int]]:
        """See Arena."""
        ipc = _must(cudart.cudaIpcGetMemHandle(self._address))
        # The class lost its `reserved` property in cuda-bindings 13.5; its address stayed.
        content = ctypes.string_at(int(ipc.getPtr()), _HANDLE_BYTES)
        return {"nbytes": self._nbytes, "ipc": content.hex()}, []

    def close(self) -> None:
        """See Arena."""
        torch.cuda.synchronize()
        self.memory = torch.empty(0, dtype=torch.uint8)
        release = cudart.cudaIpcCloseMemHandle if self._opened else cudart.cudaFree
        _must(release(self._address))


class CudaDevice:
    """The first visible CUDA device, held by this run alone."""

    kind: Literal["cpu", "cuda"] = "cuda"
    # Freeing memory takes a quarter of a second while another process on the GPU is stopped.
    freezes_idle_side = False
    read_only_state = False

    def __init__(self) -> None:
        self.torch_device = torch.device("cuda", 0)
        torch.cuda.set_device(self.torch_device)
        torch.cuda.init()
        # Make the primary context current for the runtime API in this thread too.
        _must(cudart.cudaSetDevice(0))
        _must(cudart.cudaFree(0))
        self._properties = torch.cuda.get_device_properties(self.torch_device)

    def name(self) -> str:
        """Such as 'NVIDIA H200'."""
        return str(self._properties.name)

    def memory_bytes(self) -> int:
        """See Device."""
        return int(self._properties.total_memory)

    def free_bytes(self) -> int:
        """See Device."""
        free, _ = torch.cuda.mem_get_info()
        return int(free)

    def cache_bytes(self) -> int | None:
        """The L2."""
        size = getattr(self._properties, "L2_cache_size", None)
        return int(size) if size else None

    def allocate(self, nbytes: int, *, read_only: bool) -> CudaArena:
        """See Device. Memory opened by handle is writable in a side: writes are checked for."""
        whole = -(-max(nbytes, 1) // _BLOCK_BYTES) * _BLOCK_BYTES
        return CudaArena(int(_must(cudart.cudaMalloc(whole))), whole, opened=False)

    def open(self, handle: Handle, descriptors: list[int]) -> CudaArena:
        """See Device."""
        ipc = cudart.cudaIpcMemHandle_t()
        ctypes.memmove(int(ipc.getPtr()), bytes.fromhex(handle["ipc"]), _HANDLE_BYTES)
        flags = int(cudart.cudaIpcMemLazyEnablePeerAccess)
        address = int(_must(cudart.cudaIpcOpenMemHandle(ipc, flags)))
        return CudaArena(address, handle["nbytes"], opened=True)

    def side_memory_bytes(self, pid: int) -> int | None:
        """Not per process: the driver hides it in containers. The referee takes what is free."""
        return None

    def synchronize(self) -> None:
        """See Device."""
        torch.cuda.synchronize()
