"""Check that the GPU is idle between turns.

A side's process can be stopped, but work that it queued on the GPU runs on, and may wait for the
memory that the referee writes next. Contexts share a GPU in time slices of milliseconds, so
leftover work shows twice: the referee's smallest operation takes a slice instead of microseconds,
and its copy of the inputs to the side's memory is slower than before any side started. Inputs
become visible to a side with that copy, and the clock starts at its end: a queue that waits for
them can only use the copy's own time.
"""

import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.harness.devices.arenas import Device

# On an H200 the smallest operation took 25 us (at most 330 us), and 2,400 us beside a one-block
# kernel of another process.
_MOST_US = 1000.0
_TIMES = 5
COPIED_BYTES = 1 << 28
COPIES = 4
# Copies of one size differ by 2%, and a hot GPU may lower its clocks; a small copy includes its
# launch and wait.
_SLOWER = 1.3
_LAUNCH_S = 200e-6
_NS_PER_S = 1e9


class DeviceNotIdle(Exception):
    """The device was busy although no side had a turn."""


class IdleCheck:
    """Idle checks; created before any side starts, to time an undisturbed copy. No-op on a CPU."""

    def __init__(self, device: Device, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        """`clock` counts ns."""
        self._device = device
        self._now_ns = clock
        self.watches = device.kind == "cuda"
        if self.watches:
            self._mark = torch.zeros(1, dtype=torch.int32, device=device.torch_device)
            self._bytes_per_s = self._copy_rate()
            torch.cuda.empty_cache()

    def _copy_rate(self) -> float:
        source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device=self._device.torch_device)
        target = torch.empty_like(source)
        return COPIED_BYTES / min(self._copied(target, source)[0] for _ in range(COPIES))

    def _copied(self, target: torch.Tensor, source: torch.Tensor) -> tuple[float, int]:
        """Copy; returns the seconds that it took, and its end in ns."""
        self._device.synchronize()
        started_ns = self._now_ns()
        target.copy_(source)
        self._device.synchronize()
        ended_ns = self._now_ns()
        return (ended_ns - started_ns) / _NS_PER_S, ended_ns

    def hand_over(self, shared: torch.Tensor, private: torch.Tensor) -> int:
        """Copy inputs to memory that a side sees; returns the copy's end in ns.

        Raises DeviceNotIdle if other work ran before or meanwhile.
        """
        if not self.undisturbed():
            raise DeviceNotIdle
        took_s, ended_ns = self._copied(shared, private)
        if self.watches and took_s > _SLOWER * private.numel() / self._bytes_per_s + _LAUNCH_S:
            raise DeviceNotIdle
        return ended_ns

    def undisturbed(self) -> bool:
        """Whether the device answers at once."""
        if not self.watches:
            return True
        return statistics.median(self._touched_us() for _ in range(_TIMES)) < _MOST_US

    def _touched_us(self) -> float:
        started_ns = self._now_ns()
        self._mark.add_(1)
        self._device.synchronize()
        return (self._now_ns() - started_ns) / 1e3
