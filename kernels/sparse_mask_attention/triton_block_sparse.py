"""Attention under a block mask in one Triton launch on a CUDA GPU: blocks left out cost nothing.

`prepare` turns the mask into one list of blocks for each block of queries. A program owns one
block of queries of one head: first its own block, causally, then the blocks of its list, which
need no mask, all with one online softmax. Blocks with long lists start first. On Hopper the tiles
are fetched by the tensor memory accelerator. `run` allocates nothing.

The backward pass is in `backward.py`. Under TRITON_INTERPRET=1 all of it runs on the processor in
fp32 and fp16 (the interpreter's bf16 dot is wrong).
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
from kernels.sparse_mask_attention.reference import allowed

try:
    import triton
    import triton.language as tl

    from kernels.sparse_mask_attention import descriptors
except ImportError as error:
    raise NotAvailable(
        "triton_block_sparse needs Triton 3.4 or later: pip install triton"
    ) from error

LOG2_E = 1.4426950408889634
# What tl.dot takes at least, and what fits the registers of one program.
LEAST_BLOCK, MOST_BLOCK = 16, 128


@dataclass(frozen=True, kw_only=True)
class Config:
    """How a block is cut up; block_n is the most keys taken at a time."""

    block_n: int
    warps: int
    stages: int


@dataclass(frozen=True)
class _Prepared:
    begins: Tensor  # [blocks + 1]: where each block's list begins in `places`
    places: Tensor  # blocks of keys that are seen whole, block by block
    order: Tensor  # [blocks]: longest list first
    block: int
    config: Config | None


@triton.jit
def _attend(
    q,
    k_at,
    v_at,
    top,
    total,
    acc,
    place,
    shift,
    stride_kc,
    stride_kt,
    stride_vc,
    stride_vt,
    first_row,
    first_col,
    scale,
    HEAD_DIM: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_N: tl.constexpr,
    MASKED: tl.constexpr,
    DESCRIBED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Take keys [shift, shift + BLOCK_N) of a block into the softmax; causally if MASKED."""
    col = tl.arange(0, BLOCK_D)
    n = shift + tl.arange(0, BLOCK_N)
    if DESCRIBED:
        k = k_at.load([first_row + place * BLOCK + shift, first_col])
    else:
        k_ptr = k_at + place.to(tl.int64) * stride_kc + n[:, None] * stride_kt + col[None, :]
        k = tl.load(k_ptr, mask=(col < HEAD_DIM)[None, :], other=0.0)
    score = tl.dot(q, k.T, input_precision=PRECISION)
    if MASKED:
        seen = tl.arange(0, BLOCK)[:, None] >= n[None, :]
        score = tl.where(seen, score, float("-inf"))
    # The scale is positive: the largest score stays the largest.
    new_top = tl.maximum(top, tl.max(score, 1) * scale)
    fade = tl.exp2(top - new_top)
    share = tl.exp2(score * scale - new_top[:, None])
    total = total * fade + tl.sum(share, 1)
    acc = acc * fade[:, None]
    if DESCRIBED:
        v = v_at.load([first_row + place * BLOCK + shift, first_col])
    else:
        v_ptr = v_at + place.to(tl.int64) * stride_vc + n[:, None] * stride_vt + col[None, :]
        v = tl.load(v_ptr, mask=(col < HEAD_DIM)[None, :], other=0.0)
    acc = tl.dot(share.to(v.dtype), v, acc, input_precision=PRECISION)
    return new_top, total, acc


@triton.jit
def _block_sparse(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    begins_ptr,
    places_ptr,
    order_ptr,
    stride_qb,
    stride_qc,
    stride_qt,
    stride_qh,
    stride_kb,
    stride_kc,
    stride_kt,
    stride_kh,
    stride_vb,
    stride_vc,
    stride_vt,
    stride_vh,
    stride_ob,
    stride_oc,
    stride_ot,
    stride_oh,
    scale,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DESCRIBED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    place = tl.load(order_ptr + tl.program_id(0))
    head = tl.program_id(1)
    batch = tl.program_id(2)
    far = batch.to(tl.int64)
    row = tl.arange(0, BLOCK)
    col = tl.arange(0, BLOCK_D)
    wide = (col < HEAD_DIM)[None, :]
    first_row = batch * tl.num_programs(0) * BLOCK
    first_col = (head // GROUP) * HEAD_DIM
    if DESCRIBED:
        q = q_ptr.load([first_row + place * BLOCK, head * HEAD_DIM])
        k_at = k_ptr
        v_at = v_ptr
    else:
        q_at = q_ptr + far * stride_qb + place.to(tl.int64) * stride_qc + head * stride_qh
        q = tl.load(q_at + row[:, None] * stride_qt + col[None, :], mask=wide, other=0.0)
        k_at = k_ptr + far * stride_kb + (head // GROUP) * stride_kh
        v_at = v_ptr + far * stride_vb + (head // GROUP) * stride_vh

    top = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, BLOCK_D], tl.float32)
    # Every query sees its block's first key: `top` is finite from there on.
    for shift in tl.static_range(0, BLOCK, BLOCK_N):
        top, total, acc = _attend(
            q, k_at, v_at, top, total, acc, place, shift, stride_kc, stride_kt, stride_vc,
            stride_vt, first_row, first_col, scale, HEAD_DIM, BLOCK_D, BLOCK, BLOCK_N, True,
            DESCRIBED, PRECISION,
        )  # fmt: skip
    begin = tl.load(begins_ptr + place)
    end = tl.load(begins_ptr + place + 1)
    PIECES: tl.constexpr = BLOCK // BLOCK_N
    for piece in range(begin * PIECES, end * PIECES):
        seen = tl.load(places_ptr + piece // PIECES)
        # A name of its own: `shift` is known at compile time, and a loop may not change that.
        into = piece % PIECES * BLOCK_N
        top, total, acc = _attend(
            q, k_at, v_at, top, total, acc, seen, into, stride_kc, stride_kt, stride_vc,
            stride_vt, first_row, first_col, scale, HEAD_DIM, BLOCK_D, BLOCK, BLOCK_N, False,
            DESCRIBED, PRECISION,
        )  # fmt: skip

    out = acc / total[:, None]
    out_at = out_ptr + far * stride_ob + place.to(tl.int64) * stride_oc + head * stride_oh
    out_at += row[:, None] * stride_ot + col[None, :]
    tl.store(out_at, out.to(out_ptr.dtype.element_ty), mask=wide)


def default_config(item_bytes: int, block: int) -> Config:
    """What measured best on an H200 in bf16; fp32 takes pieces that fit its shared memory."""
    if item_bytes == 2:
        return Config(block_n=block, warps=8 if block == MOST_BLOCK else 4, stages=2)
    return Config(block_n=min(block, 32), warps=8, stages=2)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    cuts = [(n, w, st) for n in (32, 64, 128) for w in (4, 8) for st in (2, 3, 4)]
    return {
        f"n{block_n} w{warps} s{stages}": Config(block_n=block_n, warps=warps, stages=stages)
        for block_n, warps, stages in cuts
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Read the mask into lists of blocks. NotAvailable for a block that is no power of two."""
    block = axes["block"]
    if not LEAST_BLOCK <= block <= MOST_BLOCK or block & (block - 1):
        raise NotAvailable(f"triton_block_sparse takes blocks of 16, 32, 64 or 128, not {block}")
    earlier = allowed(state["keep"], axes).tril(-1)
    length = earlier.sum(1)
    begins = torch.zeros(len(length) + 1, dtype=torch.int32, device=length.device)
    begins[1:] = length.cumsum(0)
    return _Prepared(
        begins=begins,
        places=earlier.nonzero()[:, 1].to(torch.int32),
        order=length.argsort(descending=True).to(torch.int32),
        block=block,
        config=config,
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Attend over whole documents; writes all of out["out"], shaped as q.

    NotAvailable without a CUDA GPU, unless Triton's interpreter is on.
    """
    q, k, v, result = inputs["q"], inputs["k"], inputs["v"], out["out"]
    if q.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable(
            "triton_block_sparse needs a CUDA GPU; on the processor use torch_gathered"
        )
    batch, blocks, block, heads, width = q.shape
    config = prepared.config or default_config(q.element_size(), block)
    block_n = min(config.block_n, block)
    sources: tuple[Any, ...] = (q, k, v)
    described = all(descriptors.fits(x) for x in sources)
    if described:
        rows = (block, block_n, block_n)
        sources = tuple(descriptors.of(x, size) for x, size in zip(sources, rows, strict=True))
    _block_sparse[(blocks, heads, batch)](
        *sources,
        result,
        prepared.begins,
        prepared.places,
        prepared.order,
        *q.stride()[:4],
        *k.stride()[:4],
        *v.stride()[:4],
        *result.stride()[:4],
        width**-0.5 * LOG2_E,
        GROUP=heads // k.shape[3],
        HEAD_DIM=width,
        BLOCK_D=max(16, triton.next_power_of_2(width)),
        BLOCK=block,
        BLOCK_N=block_n,
        DESCRIBED=described,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The gradients of q, k and v; the mask has none."""
    from kernels.sparse_mask_attention import backward

    return backward.gradients(state["keep"], inputs, out["out"], grads["out"], axes)
