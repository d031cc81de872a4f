"""Interfaces of shared memory and of a device back end."""

from typing import Any, Literal, Protocol

import torch

Handle = dict[str, Any]


class Arena(Protocol):
    """A separate allocation of shared memory, whose handle exposes nothing else."""

    memory: torch.Tensor
    """The whole arena as uint8."""

    def handle(self) -> tuple[Handle, list[int]]:
        """The handle to open it in a side: plain data and file descriptors."""

    def close(self) -> None:
        """Free or unmap the memory; its tensors become invalid."""


class Device(Protocol):
    """The device that both sides compute on."""

    kind: Literal["cpu", "cuda"]
    torch_device: torch.device
    freezes_idle_side: bool
    """Whether a side is always stopped between its turns, not only in rounds that count."""
    read_only_state: bool
    """Whether the state's memory is mapped read-only; otherwise writes are only detected."""

    def name(self) -> str:
        """The device's model name."""

    def memory_bytes(self) -> int:
        """Total memory."""

    def free_bytes(self) -> int:
        """Free memory."""

    def cache_bytes(self) -> int | None:
        """The size of the last-level cache; None where unknown."""

    def allocate(self, nbytes: int, *, read_only: bool) -> Arena:
        """Allocate an arena in the referee; `read_only` applies to the sides."""

    def open(self, handle: Handle, descriptors: list[int]) -> Arena:
        """Open an arena in a side, which takes over the descriptors."""

    def side_memory_bytes(self, pid: int) -> int | None:
        """Memory used by process `pid`; None where the device does not report it."""

    def synchronize(self) -> None:
        """Wait for all work of this process on the device."""
