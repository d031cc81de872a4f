"""Shared memory between the referee and a side, and what a device back end offers."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import torch

Handle = dict[str, Any]


class Arena(Protocol):
    """One allocation of shared memory, by itself: its handle exposes nothing else."""

    memory: torch.Tensor
    """The whole arena as uint8."""

    def handle(self) -> tuple[Handle, list[int]]:
        """What opens it in a side: plain data, and file descriptors to send along."""

    def close(self) -> None:
        """Give the memory (or this side's view of it) back; the tensors are dead after it."""


class Device(Protocol):
    """Where both sides compute: the only part of the referee that differs by hardware."""

    kind: Literal["cpu", "cuda"]
    torch_device: torch.device
    freezes_idle_side: bool
    """Whether a side is stopped whenever it is not its turn, not only in rounds that count."""
    read_only_state: bool
    """Whether the memory of state refuses writes, rather than only being checked for them."""

    def name(self) -> str:
        """The device's own name."""

    def memory_bytes(self) -> int:
        """All memory of the device."""

    def free_bytes(self) -> int:
        """Memory that is free now."""

    def cache_bytes(self) -> int | None:
        """The last-level cache that distinct inputs must outgrow; None where unknown."""

    def allocate(self, nbytes: int, *, read_only: bool) -> Arena:
        """Allocate an arena in the referee; `read_only` is for the sides."""

    def open(self, handle: Handle, descriptors: list[int]) -> Arena:
        """Open an arena in a side; takes the descriptors over."""

    def side_memory_bytes(self, pid: int) -> int | None:
        """Memory that process `pid` holds; None where it cannot be read per process."""

    def synchronize(self) -> None:
        """Wait for everything that this process started on the device."""


def device(kind: str) -> Device:
    """The back end for `cpu` or `cuda`; RuntimeError says why there is none."""
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise RuntimeError("torch sees no CUDA device here")
        from benchmarks.harness.devices.cuda import CudaDevice

        return CudaDevice()
    from benchmarks.harness.devices.cpu import CpuDevice

    return CpuDevice()
