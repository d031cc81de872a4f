"""The layout of many calls' tensors in one arena.

Each tensor has a region of `calls` slots. A slot is the tensor, padded to an alignment for vector
loads, and a guard. Another guard precedes the first slot. Writes before or past a tensor change a
guard.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import torch

from kernels.definition import TensorSpec

_ALIGNMENT_BYTES = 256
_GUARD_BYTES = 256
# Sixteen bytes of the narrowest dtype that kernels load as vectors.
_GAP_ELEMENTS = 8


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of that name; ValueError for any other text."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{name!r} is not a torch dtype")
    return dtype


@dataclass(frozen=True, kw_only=True)
class Region:
    """One tensor's slots; offset and stride are in bytes, contents are `distribution` times
    `amplitude`.

    `steps` are the tensor's strides in elements; with gaps, it spans `span` elements.
    """

    name: str
    dtype: str
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int
    stride: int
    distribution: str
    amplitude: float

    @property
    def torch_dtype(self) -> torch.dtype:
        return torch_dtype(self.dtype)

    @property
    def elements(self) -> int:
        """The number of elements of one call's tensor."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def span(self) -> int:
        """The number of elements from the first to the last of a call's tensor, gaps included."""
        return _span(self.sizes, self.steps)

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
        strided: Sequence[str] = (),
    ) -> Self:
        """Lay out `specs` (TensorSpec as plain data) for `calls` calls at one point of the axes.

        Along the axes named in `strided`, tensors have gaps.
        """
        regions = []
        offset = 0
        for data in specs:
            spec = TensorSpec(**data)
            sizes = spec.sizes(axes)
            steps = _steps(spec, sizes, strided)
            name = spec.dtype or dtype
            content = _span(sizes, steps) * torch_dtype(name).itemsize
            stride = -(-content // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES + _GUARD_BYTES
            offset += _GUARD_BYTES
            regions.append(
                Region(
                    name=spec.name,
                    dtype=name,
                    sizes=sizes,
                    steps=steps,
                    offset=offset,
                    stride=stride,
                    distribution=spec.distribution,
                    amplitude=spec.amplitude(axes),
                )
            )
            offset += stride * calls
        return cls(regions=tuple(regions), calls=calls, nbytes=offset)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The layout from the data of `as_data`."""
        regions = tuple(
            Region(**{**region, "sizes": tuple(region["sizes"]), "steps": tuple(region["steps"])})
            for region in data["regions"]
        )
        return cls(regions=regions, calls=data["calls"], nbytes=data["nbytes"])

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data for a side."""
        return asdict(self)

    def replicate(self, memory: torch.Tensor) -> None:
        """Give all ranks the same contents of tensors that are not split: here, nothing."""

    def flat(self, memory: torch.Tensor, region: Region) -> torch.Tensor:
        """A region's slots with padding and guards: [calls * stride_elements]."""
        whole = memory[region.offset : region.offset + region.stride * self.calls]
        return whole.view(region.torch_dtype)

    def slots(self, memory: torch.Tensor, region: Region) -> torch.Tensor:
        """A region as bits: [calls, stride_elements] of a signed integer of the same width."""
        whole = memory[region.offset : region.offset + region.stride * self.calls]
        bits = INTEGER_BY_WIDTH[region.torch_dtype.itemsize]
        return whole.view(bits).view(self.calls, region.stride_elements)

    def before(self, memory: torch.Tensor, region: Region) -> torch.Tensor:
        """The guard before a region's first slot, as bits."""
        guard = memory[region.offset - _GUARD_BYTES : region.offset]
        return guard.view(INTEGER_BY_WIDTH[region.torch_dtype.itemsize])

    def tensors(self, memory: torch.Tensor, call: int) -> dict[str, torch.Tensor]:
        """The tensors of one call, as views of the arena."""
        return {
            region.name: self.flat(memory, region)
            .narrow(0, call * region.stride_elements, region.span)
            .as_strided(region.sizes, region.steps)
            for region in self.regions
        }


INTEGER_BY_WIDTH = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _steps(spec: TensorSpec, sizes: tuple[int, ...], strided: Sequence[str]) -> tuple[int, ...]:
    """Strides in elements; a step along an axis of `strided` skips a gap."""
    steps: list[int] = []
    step = 1
    for side, size in zip(reversed(spec.shape), reversed(sizes), strict=True):
        if side in strided:
            step += _GAP_ELEMENTS
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def _span(sizes: tuple[int, ...], steps: tuple[int, ...]) -> int:
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
