"""Where the tensors of many calls lie in one arena.

Each tensor has a region of `calls` slots. A slot is the tensor, padded to an alignment that
vector loads like, and then a guard that nobody may write: an overflow shows there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from kernels.definition import TensorSpec

_ALIGNMENT_BYTES = 256
_GUARD_BYTES = 256


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of that name; ValueError for any other text."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{name!r} is no torch dtype")
    return dtype


@dataclass(frozen=True, kw_only=True)
class Region:
    """One tensor's slots; offsets and strides in bytes. Contents: `distribution` x `amplitude`."""

    name: str
    dtype: str
    sizes: tuple[int, ...]
    offset: int
    stride: int
    distribution: str
    amplitude: float

    @property
    def torch_dtype(self) -> torch.dtype:
        """The tensor's dtype."""
        return torch_dtype(self.dtype)

    @property
    def elements(self) -> int:
        """Elements of one call's tensor."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def stride_elements(self) -> int:
        """Elements from one call's tensor to the next."""
        return self.stride // self.torch_dtype.itemsize


@dataclass(frozen=True, kw_only=True)
class Layout:
    """All regions of one arena."""

    regions: tuple[Region, ...]
    calls: int
    nbytes: int

    @classmethod
    def plan(
        cls,
        specs: Sequence[Mapping[str, Any]],
        axes: Mapping[str, int],
        dtype: str,
        calls: int,
    ) -> Layout:
        """Lay out `specs` (TensorSpec as plain data) for `calls` calls at one point of the axes."""
        regions = []
        offset = 0
        for data in specs:
            spec = TensorSpec(**data)
            sizes = spec.sizes(axes)
            name = spec.dtype or dtype
            content = torch_dtype(name).itemsize
            for size in sizes:
                content *= size
            stride = -(-content // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES + _GUARD_BYTES
            regions.append(
                Region(
                    name=spec.name,
                    dtype=name,
                    sizes=sizes,
                    offset=offset,
                    stride=stride,
                    distribution=spec.distribution,
                    amplitude=spec.amplitude(axes),
                )
            )
            offset += stride * calls
        return cls(regions=tuple(regions), calls=calls, nbytes=offset)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Layout:
        """The layout that `as_data` described."""
        regions = tuple(
            Region(**{**region, "sizes": tuple(region["sizes"])}) for region in data["regions"]
        )
        return cls(regions=regions, calls=data["calls"], nbytes=data["nbytes"])

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as it goes to a side."""
        return asdict(self)

    def flat(self, memory: torch.Tensor, region: Region) -> torch.Tensor:
        """A region's slots, paddings and guards included: [calls * stride_elements]."""
        whole = memory[region.offset : region.offset + region.stride * self.calls]
        return whole.view(region.torch_dtype)

    def slots(self, memory: torch.Tensor, region: Region) -> torch.Tensor:
        """A region as bits: [calls, stride_elements] of a signed integer of the same width."""
        whole = memory[region.offset : region.offset + region.stride * self.calls]
        bits = INTEGER_BY_WIDTH[region.torch_dtype.itemsize]
        return whole.view(bits).view(self.calls, region.stride_elements)

    def tensors(self, memory: torch.Tensor, call: int) -> dict[str, torch.Tensor]:
        """The tensors of one call, as views of the arena."""
        return {
            region.name: self.flat(memory, region)
            .narrow(0, call * region.stride_elements, region.elements)
            .view(region.sizes)
            for region in self.regions
        }


INTEGER_BY_WIDTH = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
