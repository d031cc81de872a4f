"""Describe a tensor of blocks as one matrix for a Hopper GPU's tensor memory accelerator."""

from __future__ import annotations

import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor


def fits(x: Tensor) -> bool:
    """Whether x [batch, blocks, block, heads, head_dim] is one matrix to the hardware.

    It must be 16-bit, with heads of a power of two, and rows a multiple of 16 bytes apart.
    """
    _, blocks, block, _, width = x.shape
    step = x.stride(2)
    return (
        x.element_size() == 2
        and width >= 16
        and triton.next_power_of_2(width) == width
        and x.stride()[3:] == (width, 1)
        and x.stride()[:2] == (blocks * block * step, block * step)
        and step % 8 == 0
        and x.data_ptr() % 16 == 0
    )


def of(x: Tensor, rows: int) -> TensorDescriptor:
    """The matrix [batch * blocks * block, heads * head_dim], read in tiles of `rows` by one head.

    `fits(x)` must be true.
    """
    batch, blocks, block, heads, width = x.shape
    shape = [batch * blocks * block, heads * width]
    return TensorDescriptor(x, shape, [x.stride(2), 1], [rows, width])
