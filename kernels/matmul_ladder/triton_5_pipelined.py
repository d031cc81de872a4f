"""Rung 5, pipelined: the kernel of rung 4 with `num_stages` above one.

The compiler turns the loop's loads into asynchronous copies that run some tiles ahead (`cp.async`;
by the copy engine only where tensor descriptors are used, as on rung 6). Which copies, how many
barriers and where they wait is not said in the source.
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
    raise NotAvailable("triton_5_pipelined needs Triton: pip install triton") from error

TILE_M, TILE_N, DEPTH = 128, 256, 64
WARPS, STAGES = 8, 3


@triton.jit
def _pipelined(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_batch, stride_row,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, DEPTH: tl.constexpr, WHOLE: tl.constexpr,
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
        b_row = b_at + i.to(tl.int64)[:, None] * n
        # WHOLE: the sums end with a tile, so that the masks are the same in every step.
        if WHOLE:
            a = tl.load(a_at + i[None, :], mask=held_row, other=0.0)
            b = tl.load(b_row, mask=held_col, other=0.0)
        else:
            a = tl.load(a_at + i[None, :], mask=held_row & (i[None, :] < k), other=0.0)
            b = tl.load(b_row, mask=held_col & (i[:, None] < k), other=0.0)
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        total = tl.dot(a, b, total, input_precision="ieee")
    c_at = c_ptr + (z * m + row[:, None]) * n + col[None, :]
    tl.store(c_at, total.to(c_ptr.dtype.element_ty), mask=held_row & held_col)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """`b` as it is. NotAvailable without a CUDA GPU, unless Triton's interpreter is on."""
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_5_pipelined needs a CUDA GPU; on the processor use torch_slices")
    return state["b"].contiguous()


def run(b: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One product; writes all of out["c"] [batch, m, n]."""
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    _pipelined[(triton.cdiv(n, TILE_N), triton.cdiv(m, TILE_M), batch)](
        a, b, c, m, n, k, a.stride(0), a.stride(1),
        TILE_M=TILE_M, TILE_N=TILE_N, DEPTH=DEPTH, WHOLE=k % DEPTH == 0,
        num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
