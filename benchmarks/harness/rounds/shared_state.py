"""The state of one workload in one replicate, shared with both sides."""

from typing import Any, Self

import torch

from benchmarks.harness.devices import rank_layouts
from benchmarks.harness.devices.captured import Captured
from benchmarks.harness.devices.contents import generator, refill
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.sides import levels

# Up to this size, a checksum after every round is cheap.
_CHECKED_WHOLE_BYTES = 4 << 30
# In larger states, this many random words are compared after every round. A side that changes a
# hundredth of the state is missed in one round of 10^17.
_SECRET_WORDS = 4096


class SharedState:
    """The state that both sides read; the context frees it."""

    def __init__(
        self,
        setting: Setting,
        axes: dict[str, int],
        level: str,
        captured: Captured | None = None,
    ) -> None:
        self._setting = setting
        self._captured = captured
        specs = levels.specs(setting.definition, level, "state")
        self.layout = rank_layouts.plan(specs, axes, setting.document["dtype"], 1)
        self.arena = setting.device.allocate(self.layout.nbytes, read_only=True)
        self.tensors = self.layout.tensors(self.arena.memory, 0)
        self.refill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.tensors = {}
        self.arena.close()

    def refill(self) -> None:
        """Refill the same memory, which makes all derived data stale."""
        refill(self.arena.memory, self.layout, self._setting.source, self._captured)
        self._setting.device.synchronize()
        self._sealed = self._setting.checksum.of(self.arena.memory)
        # In host memory, from a generator of its own.
        self._secret_places = torch.randint(
            max(1, len(self._words())), (_SECRET_WORDS,), generator=generator(torch.device("cpu"))
        )
        self._secret_words = self._found()

    def intact(self) -> bool:
        """Whether all of the state is unchanged."""
        return self._setting.checksum.of(self.arena.memory) == self._sealed

    def seems_intact(self) -> bool:
        """A check fast enough for every round: by random words where the state is large."""
        if self._setting.device.read_only_state:
            return True
        if self.layout.nbytes <= _CHECKED_WHOLE_BYTES:
            return self.intact()
        return torch.equal(self._found(), self._secret_words)

    def _words(self) -> torch.Tensor:
        memory = self.arena.memory
        return memory[: len(memory) // 4 * 4].view(torch.int32)

    def _found(self) -> torch.Tensor:
        words = self._words()
        # Wiped, because a side could read it on a GPU.
        places = self._secret_places.to(words.device, copy=True)
        found = words[places].cpu() if len(words) else words.cpu()
        places.zero_()
        return found

    def as_message(self) -> tuple[dict[str, Any], list[int]]:
        """The message that opens it in a side."""
        handle, descriptors = self.arena.handle()
        return {"layout": self.layout.as_data(), "state": handle}, descriptors
