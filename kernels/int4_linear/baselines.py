"""What one gets off the shelf: 16-bit weights, or 4-bit ones by torch's own means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

GROUP = 128
ZERO = 8
# Tiles of 16 inputs that a thread of tinygemm loads at once: the most, 16 bytes.
INNER_TILES = 8


def cublas() -> Solution:
    """F.linear with weights that were dequantised beforehand: four times the bytes."""

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
        scale = state["scale"]
        grouped = (state["weight"].to(scale.dtype) - ZERO).unflatten(1, (-1, GROUP))
        return (grouped * scale[:, :, None]).flatten(1)

    def run(weight: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.mm(inputs["x"], weight.T, out=out["out"])

    return Solution(name="cublas", prepare=prepare, run=run)


def int4pack() -> Solution:
    """tinygemm: weights packed in its own order, widened in registers. On a GPU bfloat16 only."""

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
        weight, scale = state["weight"], state["scale"]
        # A weight is (number - 8) * scale + zero.
        scales = torch.stack([scale.T, torch.zeros_like(scale.T)], -1).contiguous()
        if not weight.is_cuda:
            codes = weight.to(torch.int32)
            return torch._convert_weight_to_int4pack_for_cpu(codes, INNER_TILES), scales
        if scale.dtype != torch.bfloat16:
            raise NotAvailable("torch._weight_int4pack_mm takes bfloat16 on a GPU")
        pairs = weight[:, ::2] << 4 | weight[:, 1::2]
        return torch._convert_weight_to_int4pack(pairs.contiguous(), INNER_TILES), scales

    def run(
        prepared: tuple[Tensor, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        words, scales = prepared
        x = inputs["x"].contiguous()
        product = torch._weight_int4pack_mm
        if not x.is_cuda:
            product = torch._weight_int4pack_mm_for_cpu
        out["out"].copy_(product(x, words, GROUP, scales))

    return Solution(name="int4pack", prepare=prepare, run=run)


def _widened_product(x: Tensor, pairs: Tensor, scale: Tensor, out: Tensor) -> None:
    codes = torch.stack([pairs & 15, pairs >> 4], -1).flatten(1)
    grouped = (codes.to(scale.dtype) - ZERO).unflatten(1, (-1, GROUP))
    out.copy_(x @ (grouped * scale[:, :, None]).flatten(1).T)


def compiled() -> Solution:
    """Weights at half a byte, widened in every call by what torch.compile makes of it."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")
    product = torch.compile(_widened_product, dynamic=False)

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
        weight = state["weight"]
        return (weight[:, ::2] | weight[:, 1::2] << 4).contiguous(), state["scale"].contiguous()

    def run(
        prepared: tuple[Tensor, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        product(inputs["x"], *prepared, out["out"])

    return Solution(name="compiled", prepare=prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "cublas": cublas,
    "int4pack": int4pack,
    "compiled": compiled,
}
