"""Rung 1, naive: one program an element.

Triton says what a program computes, not what a thread does: a program sums one row of `a` times one
column of `b`. The column's elements lie far apart, so each is a memory transaction of its own, and
nothing that one program fetched serves another except by luck in the cache.

There is no rung 2 in Triton: which thread holds which element is the compiler's choice, and it
takes neighbours for neighbours wherever the addresses allow.
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
    raise NotAvailable("triton_1_naive needs Triton: pip install triton") from error

DEPTH = 256
WARPS = 1


@triton.jit
def _naive(a_ptr, b_ptr, c_ptr, m, n, k, stride_batch, stride_row, DEPTH: tl.constexpr):
    col = tl.program_id(0)
    row = tl.program_id(1)
    z = tl.program_id(2).to(tl.int64)
    step = tl.arange(0, DEPTH)
    a_at = a_ptr + z * stride_batch + row.to(tl.int64) * stride_row
    b_at = b_ptr + z * k * n + col
    total = tl.zeros([DEPTH], tl.float32)
    for start in range(0, k, DEPTH):
        i = start + step
        a = tl.load(a_at + i, mask=i < k, other=0.0)
        b = tl.load(b_at + i.to(tl.int64) * n, mask=i < k, other=0.0)
        total += a.to(tl.float32) * b.to(tl.float32)
    out = tl.sum(total, 0)
    tl.store(c_ptr + (z * m + row) * n + col, out.to(c_ptr.dtype.element_ty))


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """`b` as it is. NotAvailable without a CUDA GPU, unless Triton's interpreter is on."""
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_1_naive needs a CUDA GPU; on the processor use torch_slices")
    return state["b"].contiguous()


def run(b: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One product; writes all of out["c"] [batch, m, n]."""
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    if m >= 1 << 16:
        raise NotAvailable("triton_1_naive takes fewer than 65536 rows: they are a grid's side")
    _naive[(n, m, batch)](a, b, c, m, n, k, a.stride(0), a.stride(1), DEPTH=DEPTH, num_warps=WARPS)
