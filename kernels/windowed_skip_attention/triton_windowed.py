"""Windowed attention with skip keys in one Triton launch on a CUDA GPU.

A program owns a tile of queries of one head. It reads, in this order and with one online
softmax: the skip keys before the window, a strided read; the window's left edge, masked; the
keys that all its queries see, unmasked; the diagonal, masked. Nothing is gathered or copied
and `run` allocates nothing.

Under TRITON_INTERPRET=1 it runs on the processor in fp32 and fp16 (the interpreter's bf16 dot
is wrong).
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_windowed needs Triton: pip install triton") from error

LOG2_E = 1.4426950408889634


@dataclass(frozen=True, kw_only=True)
class Config:
    """How a tile is cut up; block_m is a multiple of block_n."""

    block_m: int
    block_n: int
    warps: int
    stages: int


@dataclass(frozen=True)
class _Prepared:
    window: int
    stride: int
    config: Config | None


@triton.jit
def _attend(
    q,
    k_at,
    v_at,
    top,
    total,
    acc,
    row,
    begin,
    end,
    stride_ks,
    stride_vs,
    scale,
    HEAD_DIM: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WINDOW: tl.constexpr,
    STRIDE: tl.constexpr,
    STEP: tl.constexpr,
    MASKED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Take every STEP-th key of [begin * STEP, end * STEP) into the softmax; by rule if MASKED."""
    col = tl.arange(0, BLOCK_D)
    for start in range(begin, end, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        key = n * STEP
        k_ptr = k_at + key[None, :] * stride_ks + col[:, None]
        v_ptr = v_at + key[:, None] * stride_vs + col[None, :]
        if MASKED or BLOCK_D != HEAD_DIM:
            held = n < end
            k = tl.load(k_ptr, mask=held[None, :] & (col[:, None] < HEAD_DIM), other=0.0)
        else:
            k = tl.load(k_ptr)
        score = tl.dot(q, k, input_precision=PRECISION) * scale
        if MASKED:
            distance = row[:, None] - key[None, :]
            near = (distance < WINDOW) | ((key % STRIDE) == 0)[None, :]
            score = tl.where((distance >= 0) & near & (n < end)[None, :], score, float("-inf"))
        new_top = tl.maximum(top, tl.max(score, 1))
        fade = tl.exp2(top - new_top)
        share = tl.exp2(score - new_top[:, None])
        total = total * fade + tl.sum(share, 1)
        acc = acc * fade[:, None]
        if MASKED or BLOCK_D != HEAD_DIM:
            held = n < end
            v = tl.load(v_ptr, mask=held[:, None] & (col[None, :] < HEAD_DIM), other=0.0)
        else:
            v = tl.load(v_ptr)
        acc = tl.dot(share.to(v.dtype), v, acc, input_precision=PRECISION)
        top = new_top
    return top, total, acc


@triton.jit
def _windowed(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    stride_qb,
    stride_qs,
    stride_qh,
    stride_kb,
    stride_ks,
    stride_kh,
    stride_vb,
    stride_vs,
    stride_vh,
    stride_ob,
    stride_os,
    stride_oh,
    seq_len,
    scale,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WINDOW: tl.constexpr,
    STRIDE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    # Later tiles see more skip keys: they start first, so that none of them runs on alone.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1)
    batch = tl.program_id(2).to(tl.int64)
    row = first + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_D)
    live = (row[:, None] < seq_len) & (col[None, :] < HEAD_DIM)
    q_at = q_ptr + batch * stride_qb + head * stride_qh
    q = tl.load(q_at + row[:, None] * stride_qs + col[None, :], mask=live, other=0.0)
    k_at = k_ptr + batch * stride_kb + (head // GROUP) * stride_kh
    v_at = v_ptr + batch * stride_vb + (head // GROUP) * stride_vh

    # [near, left): window's left edge; [left, first): seen by every query; then the diagonal.
    near = tl.maximum(first - WINDOW + 1, 0) // BLOCK_N * BLOCK_N
    left = tl.cdiv(tl.maximum(first + BLOCK_M - WINDOW, 0), BLOCK_N) * BLOCK_N
    left = tl.minimum(tl.maximum(left, near), first)
    last = tl.minimum(first + BLOCK_M, seq_len)

    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    # Key 0 is a skip key, so the first block read holds a key for every query and `top` is
    # finite from there on.
    top, total, acc = _attend(
        q, k_at, v_at, top, total, acc, row, 0, tl.cdiv(near, STRIDE), stride_ks, stride_vs, scale,
        HEAD_DIM, BLOCK_D, BLOCK_N, WINDOW, STRIDE, STRIDE, True, PRECISION,
    )  # fmt: skip
    top, total, acc = _attend(
        q, k_at, v_at, top, total, acc, row, near, left, stride_ks, stride_vs, scale,
        HEAD_DIM, BLOCK_D, BLOCK_N, WINDOW, STRIDE, 1, True, PRECISION,
    )  # fmt: skip
    top, total, acc = _attend(
        q, k_at, v_at, top, total, acc, row, left, first, stride_ks, stride_vs, scale,
        HEAD_DIM, BLOCK_D, BLOCK_N, WINDOW, STRIDE, 1, False, PRECISION,
    )  # fmt: skip
    top, total, acc = _attend(
        q, k_at, v_at, top, total, acc, row, first, last, stride_ks, stride_vs, scale,
        HEAD_DIM, BLOCK_D, BLOCK_N, WINDOW, STRIDE, 1, True, PRECISION,
    )  # fmt: skip

    out = acc / total[:, None]
    out_at = out_ptr + batch * stride_ob + head * stride_oh
    out_at += row[:, None] * stride_os + col[None, :]
    tl.store(out_at, out.to(out_ptr.dtype.element_ty), mask=live)


def default_config(item_bytes: int) -> Config:
    """What measured best on an H200 in bf16; fp32 takes blocks that fit its shared memory."""
    config = Config(block_m=128, block_n=64, warps=8, stages=3)
    return config if item_bytes == 2 else replace(config, block_m=64, block_n=32, stages=2)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    cuts = [(128, 64, w, st) for w in (4, 8) for st in (2, 3, 4)]
    cuts += [(128, 128, 8, 2), (128, 128, 8, 3), (128, 32, 4, 3), (128, 32, 8, 4)]
    cuts += [(64, 64, 4, 2), (64, 64, 4, 3), (64, 32, 4, 3), (64, 32, 4, 4)]
    return {
        f"m{block_m} n{block_n} w{warps} s{stages}": Config(
            block_m=block_m, block_n=block_n, warps=warps, stages=stages
        )
        for block_m, block_n, warps, stages in cuts
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Nothing but the sizes: the operator has no state."""
    return _Prepared(window=axes["window"], stride=axes["stride"], config=config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Attend over whole documents; writes all of out["out"] [batch, seq_len, heads, head_dim].

    NotAvailable without a CUDA GPU, unless Triton's interpreter is on.
    """
    q, k, v, result = inputs["q"], inputs["k"], inputs["v"], out["out"]
    if q.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_windowed needs a CUDA GPU; on the processor use torch_blocked")
    batch, seq_len, heads, width = q.shape
    config = prepared.config or default_config(q.element_size())
    _windowed[(triton.cdiv(seq_len, config.block_m), heads, batch)](
        q,
        k,
        v,
        result,
        *q.stride()[:3],
        *k.stride()[:3],
        *v.stride()[:3],
        *result.stride()[:3],
        seq_len,
        width**-0.5 * LOG2_E,
        GROUP=heads // k.shape[2],
        HEAD_DIM=width,
        BLOCK_D=max(16, triton.next_power_of_2(width)),
        BLOCK_M=config.block_m,
        BLOCK_N=config.block_n,
        WINDOW=prepared.window,
        STRIDE=prepared.stride,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )
