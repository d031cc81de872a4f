"""The state of one workload in one replicate: allocated and filled here, shared read-only."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import levels
from benchmarks.harness.contents import refill
from benchmarks.harness.layouts import Layout
from benchmarks.harness.settings import Setting

# Up to here a checksum after every round costs little beside the round.
_CHECKED_EVERY_ROUND_BYTES = 4 << 30


class SharedState:
    """State both sides read. Use as a context: the memory goes at its end."""

    def __init__(self, setting: Setting, axes: dict[str, int], level: str) -> None:
        self._setting = setting
        specs = levels.specs(setting.definition, level, "state")
        self.layout = Layout.plan(specs, axes, setting.document["dtype"], 1)
        self.arena = setting.device.allocate(self.layout.nbytes, read_only=True)
        refill(self.arena.memory, self.layout, setting.source)
        setting.device.synchronize()
        self.tensors = self.layout.tensors(self.arena.memory, 0)
        self._sealed = setting.checksum.of(self.arena.memory)
        writable = not setting.device.read_only_state
        small = self.layout.nbytes <= _CHECKED_EVERY_ROUND_BYTES
        self.checked_every_round = writable and small

    def __enter__(self) -> SharedState:
        return self

    def __exit__(self, *exc: object) -> None:
        self.tensors = {}
        self.arena.close()

    def intact(self) -> bool:
        """Whether the state still holds what the referee wrote."""
        return self._setting.checksum.of(self.arena.memory) == self._sealed

    def as_message(self) -> tuple[dict[str, Any], list[int]]:
        """What a side needs to open it."""
        handle, descriptors = self.arena.handle()
        return {"layout": self.layout.as_data(), "state": handle}, descriptors
