"""CPU back end: memfds mapped by both processes, passed as descriptors."""

import fcntl
import mmap
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Literal

import torch

from benchmarks.harness.devices.arenas import Handle

# Not in fcntl before Python 3.13; values from linux/fcntl.h.
_F_ADD_SEALS = 1033
_F_SEAL_SEAL = 0x1
_F_SEAL_SHRINK = 0x2
_F_SEAL_GROW = 0x4
_F_SEAL_FUTURE_WRITE = 0x10


class CpuArena:
    """A memfd and this process's mapping of it."""

    def __init__(self, descriptor: int, nbytes: int, *, writable: bool, offset: int = 0) -> None:
        self._descriptor = descriptor
        self._nbytes = nbytes
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self._mapping = mmap.mmap(
            descriptor, nbytes, prot=protection, flags=mmap.MAP_SHARED, offset=offset
        )
        with warnings.catch_warnings():
            # torch warns about the read-only buffer, which is intended.
            warnings.simplefilter("ignore", UserWarning)
            self.memory = torch.frombuffer(self._mapping, dtype=torch.uint8)
        self._read_only = not writable

    def seal(self, *, writable: bool) -> None:
        """Forbid resizing: truncation would kill the reader with SIGBUS.

        Unless `writable`, also forbid new writable mappings.
        """
        seals = _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_SEAL
        if not writable:
            seals |= _F_SEAL_FUTURE_WRITE
        fcntl.fcntl(self._descriptor, _F_ADD_SEALS, seals)
        self._read_only = not writable

    def handle(self) -> tuple[Handle, list[int]]:
        handle = {"nbytes": self._nbytes, "writable": not self._read_only}
        return handle, [self._descriptor]

    def close(self) -> None:
        """The mapping itself goes with its last tensor."""
        self.memory = torch.empty(0, dtype=torch.uint8)
        os.close(self._descriptor)


class CpuDevice:
    """The processors of this machine."""

    kind: Literal["cpu", "cuda"] = "cpu"
    torch_device = torch.device("cpu")
    # Both sides share the cores, so an idle side that computes would slow the other.
    freezes_idle_side = True
    read_only_state = True

    def name(self) -> str:
        """The processor's model name."""
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
        return os.uname().machine

    def memory_bytes(self) -> int:
        """Physical memory."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def free_bytes(self) -> int:
        """Memory available without swapping."""
        available = _bytes_of("MemAvailable", Path("/proc/meminfo"))
        if available is None:
            raise RuntimeError("/proc/meminfo has no MemAvailable")
        return available

    def cache_bytes(self) -> int | None:
        """Unknown: on many virtual machines the C library reports wrong sizes."""
        return None

    def allocate(self, nbytes: int, *, read_only: bool) -> CpuArena:
        descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, max(nbytes, 1))
        arena = CpuArena(descriptor, max(nbytes, 1), writable=True)
        arena.seal(writable=not read_only)
        return arena

    def open(self, handle: Handle, descriptors: list[int]) -> CpuArena:
        (descriptor,) = descriptors
        return CpuArena(
            descriptor,
            handle["nbytes"],
            writable=handle["writable"],
            offset=handle.get("offset", 0),
        )

    def side_memory_bytes(self, pid: int) -> int | None:
        """Resident anonymous memory, without the shared arenas; None for a dead process."""
        return _bytes_of("RssAnon", Path(f"/proc/{pid}/status"))

    def synchronize(self) -> None:
        """CPU calls are synchronous."""


def _bytes_of(field: str, path: Path) -> int | None:
    """A kilobyte field of a file under /proc, in bytes; None where it is absent."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in path.read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return None
