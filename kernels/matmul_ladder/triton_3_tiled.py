"""Rung 3, tiled: a program computes a tile, and the ordinary cores do the arithmetic.

The operands are raised to fp32 and multiplied as such (`ieee`: no TF32), which Triton does with
multiply-adds over tiles that it stages in shared memory. That staging is the compiler's work: the
rung's idea is in the shape of the tile alone.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_3_tiled needs Triton: pip install triton") from error

TILE_M, TILE_N, DEPTH = 64, 128, 16
WARPS = 8


@triton.jit
def _tiled(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_batch, stride_row,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    col = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    row = tl.program_id(1) * TILE_M + tl.arange(0, TILE_M)
    z = tl.program_id(2).to(tl.int64)
    step = tl.arange(0, DEPTH)
    a_at = a_ptr + z * stride_batch + row.to(tl.int64)[:, None] * stride_row
    b_at = b_ptr + z * k * n + col[None, :]
    held_row, held_col = row[:, None] < m, col[None, :] < n
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, k, DEPTH):
        i = start + step
        a = tl.load(a_at + i[None, :], mask=held_row & (i[None, :] < k), other=0.0)
        b = tl.load(b_at + i.to(tl.int64)[:, None] * n, mask=held_col & (i[:, None] < k), other=0.0)
        total = tl.dot(a.to(tl.float32), b.to(tl.float32), total, input_precision="ieee")
    c_at = c_ptr + (z * m + row[:, None]) * n + col[None, :]
    tl.store(c_at, total.to(c_ptr.dtype.element_ty), mask=held_row & held_col)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """`b` as it is. NotAvailable without a CUDA GPU, unless Triton's interpreter is on."""
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_3_tiled needs a CUDA GPU; on the processor use torch_slices")
    return state["b"].contiguous()


def run(b: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One product; writes all of out["c"] [batch, m, n]."""
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    _tiled[(triton.cdiv(n, TILE_N), triton.cdiv(m, TILE_M), batch)](
        a, b, c, m, n, k, a.stride(0), a.stride(1),
        TILE_M=TILE_M, TILE_N=TILE_N, DEPTH=DEPTH, num_warps=WARPS, num_stages=1,
    )  # fmt: skip
