"""Probe secret positions of every output inside the clock.

One gather on the referee's own context, which does not wait for work that a side left running:
unfinished output reads as poison.

Forged handles can open a GPU's memory, so the positions are drawn in host memory and copied with
the gather, over anything written in their place.
"""

import random
from dataclasses import dataclass

import torch

from benchmarks.harness.devices import contents
from benchmarks.harness.devices.layouts import Layout, Region

POSITIONS_PER_OUTPUT = 256
_RANDOM = random.SystemRandom()
_MIDDLE = (0.4, 0.6)


@dataclass
class _Target:
    region: Region
    bits: torch.Tensor
    secret: torch.Tensor
    index: torch.Tensor
    gathered: torch.Tensor
    host: torch.Tensor


class Probe:
    """Secret positions in one side's output arena."""

    def __init__(self, layout: Layout, memory: torch.Tensor) -> None:
        self._calls = layout.calls
        self._source = contents.generator(torch.device("cpu"))
        self._targets = [self._target(layout, memory, region) for region in layout.regions]

    def _target(self, layout: Layout, memory: torch.Tensor, region: Region) -> _Target:
        bits = layout.slots(memory, region).view(-1)
        count = layout.calls * min(POSITIONS_PER_OUTPUT, region.elements)
        on_gpu = memory.is_cuda
        # 32-bit positions halve the copy inside the clock.
        small = len(bits) <= torch.iinfo(torch.int32).max
        dtype = torch.int32 if small else torch.int64
        return _Target(
            region=region,
            bits=bits,
            secret=torch.empty(count, dtype=dtype, pin_memory=on_gpu),
            index=torch.zeros(count, dtype=dtype, device=memory.device),
            gathered=torch.empty(count, dtype=bits.dtype, device=memory.device),
            host=torch.empty(count, dtype=bits.dtype, pin_memory=on_gpu),
        )

    def draw(self) -> None:
        """Draw new secret positions for every output of every call."""
        contents.reseed(self._source)
        for target in self._targets:
            per_call = len(target.secret) // self._calls
            inside = torch.randint(
                target.region.elements, (self._calls, per_call), generator=self._source
            )
            inside += (torch.arange(self._calls) * target.region.stride_elements)[:, None]
            target.secret.copy_(inside.view(-1))

    def read(self) -> None:
        """Gather every position into the referee's memory and wait for it."""
        for target in self._targets:
            target.index.copy_(target.secret, non_blocking=True)
            torch.index_select(target.bits, 0, target.index, out=target.gathered)
            target.host.copy_(target.gathered, non_blocking=True)
        if self._targets and self._targets[0].gathered.is_cuda:
            torch.cuda.synchronize()

    def middles(self) -> dict[str, float]:
        """By tensor name, a random value of the last `read` near the middle of its values."""
        found = {}
        for target in self._targets:
            dtype = target.region.torch_dtype
            values = target.host.view(dtype).double()
            ordered = values[values.isfinite()].sort().values
            if len(ordered):
                place = _RANDOM.uniform(*_MIDDLE) * (len(ordered) - 1)
                found[target.region.name] = float(ordered[int(place)])
        return found

    def values(self) -> dict[str, torch.Tensor]:
        """The values of the last `read` as bits on the CPU: [calls, positions] by tensor name."""
        return {
            target.region.name: target.host.view(self._calls, -1).clone()
            for target in self._targets
        }
