"""CUDA back end: one cudaMalloc per arena, opened in a side by its 64-byte IPC handle.

Handles of `torch.multiprocessing` expose the whole allocator segment around a tensor, and with it
any reference beside an output.
"""

import ctypes
from typing import Any, Literal

import torch
from cuda.bindings import runtime as cudart

from benchmarks.harness.devices.arenas import Handle
from benchmarks.harness.failures import DeviceFailed

# cudaMalloc serves small requests from shared 2 MiB blocks, and an IPC handle opens the whole
# block. Rounding up gives each arena its own blocks.
_BLOCK_BYTES = 2 << 20
_HANDLE_BYTES = 64


def _must(answer: tuple[Any, ...]) -> Any:
    """The value of a runtime call. Raises DeviceFailed with CUDA's error."""
    error, *values = answer
    if error != cudart.cudaError_t.cudaSuccess:
        _, text = cudart.cudaGetErrorString(error)
        reason = text.decode() if isinstance(text, bytes) else str(text)
        raise DeviceFailed(f"CUDA error {int(error)}: {reason}")
    return values[0] if values else None


class DeviceBytes:
    """Device memory for `torch.as_tensor`, without copying."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


class CudaArena:
    """Device memory that this process allocated or opened."""

    def __init__(self, address: int, nbytes: int, *, opened: bool) -> None:
        self._address = address
        self._nbytes = nbytes
        self._opened = opened
        self.memory = torch.as_tensor(DeviceBytes(address, nbytes), device="cuda")

    def handle(self) -> tuple[Handle, list[int]]:
        ipc = _must(cudart.cudaIpcGetMemHandle(self._address))
        # cuda-bindings 13.5 dropped the `reserved` property but kept its address.
        content = ctypes.string_at(int(ipc.getPtr()), _HANDLE_BYTES)
        return {"nbytes": self._nbytes, "ipc": content.hex()}, []

    def close(self) -> None:
        torch.cuda.synchronize()
        self.memory = torch.empty(0, dtype=torch.uint8)
        release = cudart.cudaIpcCloseMemHandle if self._opened else cudart.cudaFree
        _must(release(self._address))


class CudaDevice:
    """A visible CUDA device, the first unless another number is given."""

    kind: Literal["cpu", "cuda"] = "cuda"
    # Freeing memory takes 0.25 s while another process on the GPU is stopped.
    freezes_idle_side = False
    read_only_state = False

    def __init__(self, number: int = 0) -> None:
        self.torch_device = torch.device("cuda", number)
        torch.cuda.set_device(self.torch_device)
        torch.cuda.init()
        # Make the primary context current for the runtime API in this thread.
        _must(cudart.cudaSetDevice(number))
        _must(cudart.cudaFree(0))
        self._properties = torch.cuda.get_device_properties(self.torch_device)

    def name(self) -> str:
        return str(self._properties.name)

    def memory_bytes(self) -> int:
        return int(self._properties.total_memory)

    def free_bytes(self) -> int:
        free, _ = torch.cuda.mem_get_info()
        return int(free)

    def cache_bytes(self) -> int | None:
        """The size of the L2."""
        size = getattr(self._properties, "L2_cache_size", None)
        return int(size) if size else None

    def allocate(self, nbytes: int, *, read_only: bool) -> CudaArena:
        """Allocate an arena, which a side opens writable: writes are detected, not prevented."""
        whole = -(-max(nbytes, 1) // _BLOCK_BYTES) * _BLOCK_BYTES
        return CudaArena(int(_must(cudart.cudaMalloc(whole))), whole, opened=False)

    def open(self, handle: Handle, descriptors: list[int]) -> CudaArena:
        ipc = cudart.cudaIpcMemHandle_t()
        ctypes.memmove(int(ipc.getPtr()), bytes.fromhex(handle["ipc"]), _HANDLE_BYTES)
        flags = int(cudart.cudaIpcMemLazyEnablePeerAccess)
        address = int(_must(cudart.cudaIpcOpenMemHandle(ipc, flags)))
        return CudaArena(address, handle["nbytes"], opened=True)

    def side_memory_bytes(self, pid: int) -> int | None:
        """Unknown: in containers the driver hides it. The referee measures free memory instead."""
        return None

    def synchronize(self) -> None:
        torch.cuda.synchronize()
