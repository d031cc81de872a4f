"""Outputs of different dtypes for torch.compile, which takes views of one buffer for overlapping.

The referee's outputs are views of one buffer. torch 2.11 compares where such views begin in
elements of each view's own dtype, and refuses those that then appear to overlap ("input mutations
on views with different dtypes").
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack, to_dlpack


def separate(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The same memory as tensors that share no storage; nothing is copied or queued."""
    return tuple(_alone(tensor) for tensor in tensors)


def _alone(tensor: Tensor) -> Tensor:
    # DLPack has no FP8.
    if tensor.itemsize > 1:
        alone: Tensor = from_dlpack(to_dlpack(tensor))
        return alone
    bytes_alone: Tensor = from_dlpack(to_dlpack(tensor.view(torch.uint8)))
    return bytes_alone.view(tensor.dtype)
