"""FlashAttention's forward pass in Triton, to read and to learn from: causal, grouped queries.

A program owns a tile of queries of one head. It walks over the keys in blocks and keeps, for
every query, the largest score so far, the sum of exponentials and the weighted sum of V; when a
larger score appears the two sums are scaled down (online softmax: Milakov and Gimelshein, 2018;
Dao et al., FlashAttention, 2022). Keys before the tile are seen by all its queries and need no
mask; only the diagonal does. No score leaves the chip.

On Hopper whole tiles are fetched by the tensor memory accelerator through descriptors; sizes that
are not whole tiles take plain loads with masks. What it leaves on the table beside the libraries
is overlap: they run softmax of one tile under the products of another, in separate warps.

Under TRITON_INTERPRET=1 it runs on the processor in fp32 and fp16 (the interpreter's bf16 dot
is wrong).
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    raise NotAvailable("triton_flash needs Triton 3.4 or later: pip install -U triton") from error

LOG2_E = 1.4426950408889634


@dataclass(frozen=True, kw_only=True)
class Config:
    """How a tile is cut up; block_m is a multiple of block_n."""

    block_m: int
    block_n: int
    warps: int
    stages: int


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
    first_row,
    first_col,
    scale,
    HEAD_DIM: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    MASKED: tl.constexpr,
    DESCRIBED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Take the keys [begin, end) into the softmax; those after the query are left out if MASKED."""
    col = tl.arange(0, BLOCK_D)
    for start in range(begin, end, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        held = (n < end)[:, None] & (col < HEAD_DIM)[None, :]
        if DESCRIBED:
            k = k_at.load([first_row + start, first_col])
        elif MASKED or BLOCK_D != HEAD_DIM:
            k = tl.load(k_at + n[:, None] * stride_ks + col[None, :], mask=held, other=0.0)
        else:
            k = tl.load(k_at + n[:, None] * stride_ks + col[None, :])
        score = tl.dot(q, k.T, input_precision=PRECISION)
        if MASKED:
            score = tl.where(row[:, None] >= n[None, :], score, float("-inf"))
        # The scale is positive: the largest score stays the largest, and the product with it
        # becomes one fused multiply-add with the subtraction.
        new_top = tl.maximum(top, tl.max(score, 1) * scale)
        fade = tl.exp2(top - new_top)
        share = tl.exp2(score * scale - new_top[:, None])
        total = total * fade + tl.sum(share, 1)
        acc = acc * fade[:, None]
        if DESCRIBED:
            v = v_at.load([first_row + start, first_col])
        elif MASKED or BLOCK_D != HEAD_DIM:
            v = tl.load(v_at + n[:, None] * stride_vs + col[None, :], mask=held, other=0.0)
        else:
            v = tl.load(v_at + n[:, None] * stride_vs + col[None, :])
        acc = tl.dot(share.to(v.dtype), v, acc, input_precision=PRECISION)
        top = new_top
    return top, total, acc


@triton.jit
def _flash(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
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
    DESCRIBED: tl.constexpr,
    KEEP_LSE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    # Later tiles see more keys: they start first, so that none of them runs on alone.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1)
    batch = tl.program_id(2)
    row = first + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_D)
    live = (row[:, None] < seq_len) & (col[None, :] < HEAD_DIM)
    far = batch.to(tl.int64)
    first_row = batch * seq_len
    first_col = (head // GROUP) * HEAD_DIM
    if DESCRIBED:
        q = q_ptr.load([first_row + first, head * HEAD_DIM])
        k_at = k_ptr
        v_at = v_ptr
    else:
        q_at = q_ptr + far * stride_qb + head * stride_qh
        q = tl.load(q_at + row[:, None] * stride_qs + col[None, :], mask=live, other=0.0)
        k_at = k_ptr + far * stride_kb + (head // GROUP) * stride_kh
        v_at = v_ptr + far * stride_vb + (head // GROUP) * stride_vh

    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    # Every query sees key 0, which the first block holds: `top` is finite from there on.
    top, total, acc = _attend(
        q, k_at, v_at, top, total, acc, row, 0, first, stride_ks, stride_vs, first_row,
        first_col, scale, HEAD_DIM, BLOCK_D, BLOCK_N, False, DESCRIBED, PRECISION,
    )  # fmt: skip
    last = tl.minimum(first + BLOCK_M, seq_len)
    top, total, acc = _attend(
        q, k_at, v_at, top, total, acc, row, first, last, stride_ks, stride_vs, first_row,
        first_col, scale, HEAD_DIM, BLOCK_D, BLOCK_N, True, DESCRIBED, PRECISION,
    )  # fmt: skip

    out = acc / total[:, None]
    out_at = out_ptr + far * stride_ob + head * stride_oh
    out_at += row[:, None] * stride_os + col[None, :]
    tl.store(out_at, out.to(out_ptr.dtype.element_ty), mask=live)
    if KEEP_LSE:
        lse_at = lse_ptr + (far * tl.num_programs(1) + head) * seq_len + row
        tl.store(lse_at, top + tl.log2(total), mask=row < seq_len)


def default_config(item_bytes: int) -> Config:
    """What measured best on an H200 in bf16; fp32 takes blocks that fit its shared memory."""
    if item_bytes == 2:
        return Config(block_m=128, block_n=128, warps=8, stages=3)
    return Config(block_m=64, block_n=32, warps=8, stages=2)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    cuts = [(128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 2), (128, 64, 8, 3), (128, 64, 8, 4)]
    cuts += [(128, 64, 4, 3), (256, 64, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 32, 4, 4)]
    return {
        f"m{block_m} n{block_n} w{warps} s{stages}": Config(
            block_m=block_m, block_n=block_n, warps=warps, stages=stages
        )
        for block_m, block_n, warps, stages in cuts
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> Config | None:
    """Nothing: the operator has no state. None: the configuration that fits the inputs' dtype."""
    return config


def run(prepared: Config | None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Attend over whole prompts; writes all of out["out"] [batch, seq_len, heads, head_dim].

    NotAvailable without a CUDA GPU, unless Triton's interpreter is on.
    """
    q = inputs["q"]
    if q.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_flash needs a CUDA GPU; on the processor use torch_naive")
    config = prepared or default_config(q.element_size())
    _forward(q, inputs["k"], inputs["v"], out["out"], None, config)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The gradients of q, k and v: the forward pass once more for its log-sum-exp, then two."""
    from kernels.flash_attention import backward

    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    batch, seq_len, heads, _ = q.shape
    lse = torch.empty(batch, heads, seq_len, dtype=torch.float32, device=q.device)
    result = torch.empty_like(out["out"])
    _forward(q, k, v, result, lse, default_config(q.element_size()))
    return backward.gradients(q, k, v, result, grads["out"], lse)


def _forward(
    q: Tensor, k: Tensor, v: Tensor, result: Tensor, lse: Tensor | None, config: Config
) -> None:
    batch, seq_len, heads, width = q.shape
    described = all(_fits_descriptor(x, seq_len, config) for x in (q, k, v))
    sources: tuple[Any, ...] = (q, k, v)
    if described:
        rows = (config.block_m, config.block_n, config.block_n)
        sources = tuple(_descriptor(x, block) for x, block in zip(sources, rows, strict=True))
    _flash[(triton.cdiv(seq_len, config.block_m), heads, batch)](
        *sources,
        result,
        lse,
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
        DESCRIBED=described,
        KEEP_LSE=lse is not None,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )


def _fits_descriptor(x: Tensor, seq_len: int, config: Config) -> bool:
    """Whether x is a matrix of whole tiles, [batch * seq_len, heads * head_dim], to the hardware.

    A tile that is not whole would reach into the next prompt.
    """
    width = x.shape[3]
    return (
        x.element_size() == 2
        and seq_len % config.block_m == 0
        and width >= 16
        and triton.next_power_of_2(width) == width
        and x.stride(3) == 1
        and x.stride(2) == width
        and x.stride(0) == seq_len * x.stride(1)
        and x.stride(1) % 8 == 0
        and x.data_ptr() % 16 == 0
    )


def _descriptor(x: Tensor, block: int) -> Any:
    batch, seq_len, heads, width = x.shape
    shape = [batch * seq_len, heads * width]
    return TensorDescriptor(x, shape, [x.stride(1), 1], [block, width])
