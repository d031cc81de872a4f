"""What one gets off the shelf: 16-bit weights, or int8 weights by torch's own means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

_Packed = tuple[Tensor, Tensor]  # weight [out_features, in_features] int8, scale [out_features]


def _as_it_is(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Packed:
    return state["weight"].contiguous(), state["scale"].contiguous()


def _dequantised(weight: Tensor, scale: Tensor) -> Tensor:
    """The weights in the scale's dtype, which is the activations'."""
    return weight.to(scale.dtype) * scale[:, None]


def cublas() -> Solution:
    """F.linear with weights that were dequantised beforehand: twice the bytes of int8 ones."""

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
        return _dequantised(state["weight"], state["scale"])

    def run(weight: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.mm(inputs["x"], weight.T, out=out["out"])

    return Solution(name="cublas", prepare=prepare, run=run)


def unfused() -> Solution:
    """The weights dequantised in every call: what int8 checkpoints cost without a kernel."""

    def run(packed: _Packed, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.mm(inputs["x"], _dequantised(*packed).T, out=out["out"])

    return Solution(name="unfused", prepare=_as_it_is, run=run)


def compiled() -> Solution:
    """The same under torch.compile, which may fuse the cast into a product of its own."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")

    @torch.compile(dynamic=False)
    def linear(x: Tensor, weight: Tensor, scale: Tensor, out: Tensor) -> None:
        out.copy_(F.linear(x, weight.to(x.dtype)) * scale)

    def run(packed: _Packed, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        linear(inputs["x"], *packed, out["out"])

    return Solution(name="compiled", prepare=_as_it_is, run=run)


def int8pack() -> Solution:
    """torch's own product with int8 weights, as int8 weight-only layers call it on a GPU.

    Its processor kernel is left out: with bfloat16 it was off by several hundredths where
    in_features was 152.
    """
    if not torch.cuda.is_available():
        raise NotAvailable("torch._weight_int8pack_mm is measured on a CUDA GPU only")

    def run(packed: _Packed, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        out["out"].copy_(torch._weight_int8pack_mm(inputs["x"].contiguous(), *packed))

    return Solution(name="int8pack", prepare=_as_it_is, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "cublas": cublas,
    "unfused": unfused,
    "compiled": compiled,
    "int8pack": int8pack,
}
