"""The backward pass of causal attention in Triton: one kernel for dQ, one for dK and dV.

With p the softmax, recomputed from the scores and their log-sum-exp, and delta the row sums of
dOut * out (Dao, FlashAttention-2, 2023, section 2.3):

    dV = p^T dOut      dS = p * (dOut V^T - delta)      dQ = dS K * scale      dK = dS^T Q * scale

Each program has its own sums, so there are no atomics and two runs give the same bits.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _tile(x_ptr, stride, row, seq_len, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr):
    """Rows of one head, zeros past its end."""
    col = tl.arange(0, BLOCK_D)
    live = (row < seq_len)[:, None] & (col < HEAD_DIM)[None, :]
    return tl.load(x_ptr + row[:, None] * stride + col[None, :], mask=live, other=0.0)


@triton.jit
def _put(x_ptr, stride, row, seq_len, x, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr):
    col = tl.arange(0, BLOCK_D)
    live = (row < seq_len)[:, None] & (col < HEAD_DIM)[None, :]
    tl.store(x_ptr + row[:, None] * stride + col[None, :], x.to(x_ptr.dtype.element_ty), mask=live)


@triton.jit
def _to_queries(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dq_ptr,
    stride_qb, stride_qs, stride_qh, stride_kb, stride_ks, stride_kh,
    stride_vb, stride_vs, stride_vh, stride_gb, stride_gs, stride_gh,
    stride_db, stride_ds, stride_dh, seq_len, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1)
    batch = tl.program_id(2).to(tl.int64)
    row = first + tl.arange(0, BLOCK_M)
    k_at = k_ptr + batch * stride_kb + (head // GROUP) * stride_kh
    v_at = v_ptr + batch * stride_vb + (head // GROUP) * stride_vh
    q_at = q_ptr + batch * stride_qb + head * stride_qh
    grad_at = grad_ptr + batch * stride_gb + head * stride_gh
    q = _tile(q_at, stride_qs, row, seq_len, HEAD_DIM, BLOCK_D)
    grad = _tile(grad_at, stride_gs, row, seq_len, HEAD_DIM, BLOCK_D)
    at = (batch * tl.num_programs(1) + head) * seq_len + row
    lse = tl.load(lse_ptr + at, mask=row < seq_len, other=float("inf"))
    delta = tl.load(delta_ptr + at, mask=row < seq_len, other=0.0)
    dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for start in range(0, tl.minimum(first + BLOCK_M, seq_len), BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = _tile(k_at, stride_ks, n, seq_len, HEAD_DIM, BLOCK_D)
        v = _tile(v_at, stride_vs, n, seq_len, HEAD_DIM, BLOCK_D)
        score = tl.dot(q, k.T, input_precision=PRECISION) * (scale * LOG2_E)
        seen = row[:, None] >= n[None, :]
        share = tl.where(seen, tl.exp2(score - lse[:, None]), 0.0)
        slope = share * (tl.dot(grad, v.T, input_precision=PRECISION) - delta[:, None])
        dq = tl.dot(slope.to(k.dtype), k, dq, input_precision=PRECISION)
    dq_at = dq_ptr + batch * stride_db + head * stride_dh
    _put(dq_at, stride_ds, row, seq_len, dq * scale, HEAD_DIM, BLOCK_D)


@triton.jit
def _to_keys(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    stride_qb, stride_qs, stride_qh, stride_kb, stride_ks, stride_kh,
    stride_vb, stride_vs, stride_vh, stride_gb, stride_gs, stride_gh,
    stride_db, stride_ds, stride_dh, seq_len, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * BLOCK_N
    kv_head = tl.program_id(1)
    batch = tl.program_id(2).to(tl.int64)
    n = first + tl.arange(0, BLOCK_N)
    k_at = k_ptr + batch * stride_kb + kv_head * stride_kh
    v_at = v_ptr + batch * stride_vb + kv_head * stride_vh
    k = _tile(k_at, stride_ks, n, seq_len, HEAD_DIM, BLOCK_D)
    v = _tile(v_at, stride_vs, n, seq_len, HEAD_DIM, BLOCK_D)
    dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    for member in range(GROUP):
        head = kv_head * GROUP + member
        q_at = q_ptr + batch * stride_qb + head * stride_qh
        grad_at = grad_ptr + batch * stride_gb + head * stride_gh
        at = (batch * tl.num_programs(1) * GROUP + head) * seq_len
        for start in range(first // BLOCK_M * BLOCK_M, seq_len, BLOCK_M):
            row = start + tl.arange(0, BLOCK_M)
            q = _tile(q_at, stride_qs, row, seq_len, HEAD_DIM, BLOCK_D)
            grad = _tile(grad_at, stride_gs, row, seq_len, HEAD_DIM, BLOCK_D)
            lse = tl.load(lse_ptr + at + row, mask=row < seq_len, other=float("inf"))
            delta = tl.load(delta_ptr + at + row, mask=row < seq_len, other=0.0)
            score = tl.dot(k, q.T, input_precision=PRECISION) * (scale * LOG2_E)
            seen = row[None, :] >= n[:, None]
            share = tl.where(seen, tl.exp2(score - lse[None, :]), 0.0)
            dv = tl.dot(share.to(grad.dtype), grad, dv, input_precision=PRECISION)
            slope = share * (tl.dot(v, grad.T, input_precision=PRECISION) - delta[None, :])
            dk = tl.dot(slope.to(q.dtype), q, dk, input_precision=PRECISION)
    to = batch * stride_db + kv_head * stride_dh
    _put(dk_ptr + to, stride_ds, n, seq_len, dk * scale, HEAD_DIM, BLOCK_D)
    _put(dv_ptr + to, stride_ds, n, seq_len, dv, HEAD_DIM, BLOCK_D)


def gradients(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, grad: Tensor, lse: Tensor
) -> dict[str, Tensor]:
    """dq, dk, dv as q, k, v: q, out and grad [batch, seq_len, heads, head_dim], k and v with
    kv_heads, `lse` [batch, heads, seq_len] in fp32, the scores' log-sum-exp to base 2.
    """
    batch, seq_len, heads, width = q.shape
    kv_heads = k.shape[2]
    grad = grad if grad.stride(3) == 1 else grad.contiguous()
    delta = (out.float() * grad.float()).sum(-1).transpose(1, 2).contiguous()
    dq, dk, dv = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    strides = [step for x in (q, k, v, grad) for step in x.stride()[:3]]
    block_m, block_n = (64, 64) if q.element_size() == 2 else (32, 32)
    shape: dict[str, Any] = {
        "GROUP": heads // kv_heads,
        "HEAD_DIM": width,
        "BLOCK_D": max(16, triton.next_power_of_2(width)),
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "PRECISION": "ieee",
        "num_stages": 2,
    }
    scale = width**-0.5
    _to_queries[(triton.cdiv(seq_len, block_m), heads, batch)](
        q, k, v, grad, lse, delta, dq, *strides, *dq.stride()[:3], seq_len, scale,
        num_warps=4, **shape,
    )  # fmt: skip
    _to_keys[(triton.cdiv(seq_len, block_n), kv_heads, batch)](
        q, k, v, grad, lse, delta, dk, dv, *strides, *dk.stride()[:3], seq_len, scale,
        # Two sums a program: with heads of 128 four warps have too few registers for them.
        num_warps=8 if shape["BLOCK_D"] >= 128 else 4, **shape,
    )  # fmt: skip
    return {"q": dq, "k": dk, "v": dv}
