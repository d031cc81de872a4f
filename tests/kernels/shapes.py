"""Small, awkward sizes of each operator, and random tensors for them."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels import llama, solutions
from kernels.definition import TensorSpec

SHARED = "shared_prefix_attention"
WINDOWED = "windowed_skip_attention"


def _shared(batch: int, prefix: int, own: int, heads: int, kv_heads: int, width: int) -> dict:
    model = _model(heads, kv_heads, width)
    return llama.sized(model, layers=2, batch=batch, prefix_len=prefix, own_len=own)


def _windowed(
    batch: int, length: int, window: int, stride: int, heads: int, kv_heads: int, width: int
) -> dict:
    model = _model(heads, kv_heads, width)
    return llama.sized(model, layers=2, batch=batch, seq_len=length, window=window, stride=stride)


def _model(heads: int, kv_heads: int, width: int) -> dict:
    return {"heads": heads, "kv_heads": kv_heads, "head_dim": width, "hidden": 24, "ffn": 40}


SIZES = {
    SHARED: {
        "everything is one": _shared(1, 1, 1, 1, 1, 2),
        "nothing of its own yet": _shared(2, 5, 0, 2, 1, 16),
        "odd in every axis": _shared(3, 77, 5, 6, 2, 40),
        "whole blocks": _shared(4, 128, 64, 4, 2, 64),
        "more rows than a tile": _shared(33, 70, 3, 4, 1, 16),
    },
    WINDOWED: {
        "everything is one": _windowed(1, 1, 1, 1, 1, 1, 2),
        "odd in every axis": _windowed(2, 77, 17, 5, 6, 2, 40),
        "whole blocks": _windowed(1, 128, 64, 32, 4, 2, 64),
        "no skip key but the first": _windowed(1, 130, 50, 1000, 2, 1, 16),
        "window longer than the document": _windowed(1, 90, 500, 7, 2, 2, 16),
        "window of one": _windowed(1, 150, 1, 16, 2, 2, 16),
    },
}


def draw(specs: tuple[TensorSpec, ...], axes: dict, dtype: torch.dtype) -> dict[str, Tensor]:
    """Random tensors as a benchmark would hand them over."""
    return {spec.name: _contents(spec, axes).mul_(spec.amplitude(axes)).to(dtype) for spec in specs}


def poisoned(specs: tuple[TensorSpec, ...], axes: dict, dtype: torch.dtype) -> dict[str, Tensor]:
    """Output buffers in which an element that nobody writes stays NaN."""
    return {spec.name: torch.full(spec.sizes(axes), float("nan"), dtype=dtype) for spec in specs}


def reference_of(operator: str, state: dict, inputs: dict, axes: dict) -> dict[str, Tensor]:
    """The operator in fp64."""
    return solutions.reference(operator).reference(state, inputs, axes)


def _contents(spec: TensorSpec, axes: dict) -> Tensor:
    sizes = spec.sizes(axes)
    return torch.ones(sizes) if spec.distribution == "ones" else torch.randn(sizes)
