"""The GPU while it is nobody's turn: does anything run there that a side left behind?

A side's process can be stopped; what it queued on a GPU runs on, and a queue can wait for the
very memory that the referee writes next. Contexts share a GPU by time slices of milliseconds,
so whatever is at work shows twice: the referee's smallest operation takes a slice instead of
microseconds, and its copy of the inputs into the side's memory takes longer than it did before
any side was there. Nothing of a round is where a side sees it before that copy, and the clock
starts right after it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.harness.devices.arenas import Device

# On an H200 the smallest operation took 25 us, at most 330 us, and 2,400 us beside a kernel of
# one block of another process.
_MOST_US = 1000.0
_TIMES = 5
_COPIED_BYTES = 1 << 28
_COPIES = 4
# Copies of one size differ by 2%, and a hot GPU may clock down; a small one has its launch and
# its wait besides.
_SLOWER = 1.3
_LAUNCH_S = 200e-6


class NotQuiet(Exception):
    """Time and again something worked on the device while no side had a turn."""


class Quiet:
    """Made before any side is there, to know how long a copy takes then. Nothing on a CPU."""

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
        """Copy inputs to where a side sees them; whether nobody else worked meanwhile."""
        took_s = self._copied_s(shared, private)
        if not self._watched:
            return True
        expected_s = private.numel() / self._bytes_per_s
        return took_s <= _SLOWER * expected_s + _LAUNCH_S and self.undisturbed()

    def undisturbed(self) -> bool:
        """Whether the device answers at once: nobody else's work is on it now."""
        if not self._watched:
            return True
        return statistics.median(self._touched_us() for _ in range(_TIMES)) < _MOST_US

    def _touched_us(self) -> float:
        started_s = self._now_s()
        self._mark.add_(1)
        self._device.synchronize()
        return 1e6 * (self._now_s() - started_s)
