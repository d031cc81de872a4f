"""A keyed checksum, to detect writes to the state.

Multilinear hashing: 32-bit words times secret 64-bit multipliers, summed modulo 2^64, first inside
chunks and then over them. Different contents collide with a probability of about 2^-32 (Lemire and
Kaser, Strongly universal string hashing is fast, 2014).

A forged handle can open a GPU's memory, and with the multipliers a write could be compensated. On a
GPU they are therefore drawn for each sum, from a seed in host memory, and wiped.
"""

import os

import torch

from benchmarks.harness.devices.contents import generator

# Large enough to keep a GPU busy, small enough for a processor's cache.
_CHUNK_WORDS = {"cuda": 1 << 24, "cpu": 1 << 16}


class Checksum:
    """A checksum with a secret key, which stays in the referee."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._seed = int.from_bytes(os.urandom(8), "little") >> 1
        self._chunk = _CHUNK_WORDS[device.type]
        self._kept = self._drawn(self._chunk) if device.type == "cpu" else None
        self._source = generator(torch.device("cpu"))
        self._multipliers: list[int] = []

    def of(self, memory: torch.Tensor) -> int:
        """The checksum of a uint8 arena, whose size is a multiple of four."""
        words = memory[: len(memory) // 4 * 4].view(torch.int32)
        total = torch.zeros((), dtype=torch.int64, device=memory.device)
        inside = self._drawn(min(self._chunk, len(words))) if self._kept is None else self._kept
        for index, start in enumerate(range(0, len(words), self._chunk)):
            chunk = words[start : start + self._chunk].to(torch.int64)
            total += (chunk * inside[: len(chunk)]).sum() * self._multiplier(index)
        if self._kept is None:
            inside.zero_()
        return int(total.item())

    def _drawn(self, count: int) -> torch.Tensor:
        """The multipliers inside a chunk, the same every time."""
        limits = torch.iinfo(torch.int64)
        source = torch.Generator(device=self._device)
        source.manual_seed(self._seed)
        drawn = torch.empty(count, dtype=torch.int64, device=self._device)
        return drawn.random_(limits.min, limits.max, generator=source)

    def _multiplier(self, index: int) -> int:
        while len(self._multipliers) <= index:
            limit = torch.iinfo(torch.int64).max
            drawn = torch.randint(limit, (1,), generator=self._source)
            self._multipliers.append(int(drawn.item()))
        return self._multipliers[index]
