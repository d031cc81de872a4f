"""Idle checks of all ranks' devices."""

import torch

from benchmarks.harness.devices.idle import COPIED_BYTES, COPIES, IdleCheck


class RankedIdleCheck(IdleCheck):
    """Each check touches every device; inputs are copied to all ranks' memory at once."""

    def _copy_rate(self) -> float:
        arena = self._device.allocate(COPIED_BYTES, read_only=False)
        try:
            self._marks = [
                torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu}")
                for gpu in range(getattr(self._device, "ranks", 1))
            ]
            source = torch.zeros_like(arena.memory)
            took_s = min(self._copied(arena.memory, source)[0] for _ in range(COPIES))
            return arena.memory.numel() / took_s
        finally:
            arena.close()

    def _touched_us(self) -> float:
        started_ns = self._now_ns()
        for mark in self._marks:
            mark.add_(1)
        self._device.synchronize()
        return (self._now_ns() - started_ns) / 1e3
