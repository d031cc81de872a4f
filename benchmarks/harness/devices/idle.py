"""Check that the GPU is idle between turns.

A side's process can be stopped, but work that it queued on the GPU runs on, and may wait for the
memory that the referee writes next. Contexts share a GPU in time slices of milliseconds, so
leftover work shows twice: the referee's smallest operation takes a slice instead of microseconds,
and its copy of the inputs to the side's memory is slower than before any side started. Inputs
become visible to a side with that copy, right before the clock starts.
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
_COPIED_BYTES = 1 << 28
_COPIES = 4
# Copies of one size differ by 2%, and a hot GPU may lower its clocks; a small copy includes its
# launch and wait.
_SLOWER = 1.3
_LAUNCH_S = 200e-6


class DeviceNotIdle(Exception):
    """The device was repeatedly busy although no side had a turn."""


class IdleCheck:
    """Idle checks; created before any side starts, to time an undisturbed copy. No-op on a CPU."""

    def __init__(self, device: Device, clock: Callable[[], float] = time.perf_counter) -> None:
        self._device = device
        self._now_s = clock
        self._watched = device.kind == "cuda"
        if self._watched:
            self._mark = torch.zeros(1, dtype=torch.int32, device=device.torch_device)
            self._bytes_per_s = self._copy_rate()
            torch.cuda.empty_cache()

    def _copy_rate(self) -> float:
        source = torch.zeros(_COPIED_BYTES, dtype=torch.uint8, device=self._device.torch_device)
        target = torch.empty_like(source)
        return _COPIED_BYTES / min(self._copied_s(target, source) for _ in range(_COPIES))

    def _copied_s(self, target: torch.Tensor, source: torch.Tensor) -> float:
        self._device.synchronize()
        started_s = self._now_s()
        target.copy_(source)
        self._device.synchronize()
        return self._now_s() - started_s

    def hands_over(self, shared: torch.Tensor, private: torch.Tensor) -> bool:
        """Copy inputs to memory that a side sees; False if other work ran meanwhile."""
        took_s = self._copied_s(shared, private)
        if not self._watched:
            return True
        expected_s = private.numel() / self._bytes_per_s
        return took_s <= _SLOWER * expected_s + _LAUNCH_S and self.undisturbed()

    def undisturbed(self) -> bool:
        """Whether the device answers at once."""
        if not self._watched:
            return True
        return statistics.median(self._touched_us() for _ in range(_TIMES)) < _MOST_US

    def _touched_us(self) -> float:
        started_s = self._now_s()
        self._mark.add_(1)
        self._device.synchronize()
        return 1e6 * (self._now_s() - started_s)
