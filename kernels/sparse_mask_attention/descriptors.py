"""A tensor of blocks as the tensor memory accelerator of a Hopper GPU sees it: one matrix."""

from __future__ import annotations

import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor


def fits(x: Tensor) -> bool:
    """Whether x, [batch, blocks, block, heads, head_dim], is one matrix to the hardware: what
    lies beside one another is a power of two of 16-bit numbers, and rows are 16 bytes apart."""
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
    """The matrix [batch * blocks * block, heads * head_dim], fetched `rows` rows of a head at a
    time. x fits."""
    batch, blocks, block, heads, width = x.shape
    shape = [batch * blocks * block, heads * width]
    return TensorDescriptor(x, shape, [x.stride(2), 1], [rows, width])
