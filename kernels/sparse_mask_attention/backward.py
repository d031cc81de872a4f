"""The backward pass of attention under a block mask in Triton; masked blocks cost nothing.

With p the softmax, recomputed from the scores and their log-sum-exp, and delta the row sums of
dOut * out (Dao, FlashAttention-2, 2023, section 2.3):

    dV = p^T dOut      dS = p * (dOut V^T - delta)      dQ = dS K * scale      dK = dS^T Q * scale

A tile of queries visits the blocks of keys that its block sees, and a tile of keys the blocks of
queries that see it: the mask's rows and columns as lists. Each program has its own sums, so there
are no atomics and two runs give the same bits. Nothing here waits for the GPU.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.sparse_mask_attention.reference import allowed

LOG2_E = 1.4426950408889634


@triton.jit
def _tile(x, batch, place, head, row, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr):
    """Rows of one head of one block; x is a pointer and its strides."""
    x_ptr, stride_b, stride_c, stride_t, stride_h = x
    col = tl.arange(0, BLOCK_D)
    x_ptr += batch.to(tl.int64) * stride_b + place.to(tl.int64) * stride_c + head * stride_h
    at = x_ptr + row[:, None] * stride_t + col[None, :]
    return tl.load(at, mask=(col < HEAD_DIM)[None, :], other=0.0)


@triton.jit
def _put(x, batch, place, head, row, tile, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr):
    x_ptr, stride_b, stride_c, stride_t, stride_h = x
    col = tl.arange(0, BLOCK_D)
    x_ptr += batch.to(tl.int64) * stride_b + place.to(tl.int64) * stride_c + head * stride_h
    at = x_ptr + row[:, None] * stride_t + col[None, :]
    tl.store(at, tile.to(x_ptr.dtype.element_ty), mask=(col < HEAD_DIM)[None, :])


@triton.jit
def _walk(lists, BLOCK: tl.constexpr, TILE: tl.constexpr):
    """The block that a program's tile is of, its rows there, and the tiles it goes through."""
    begins_ptr, _, order_ptr = lists
    PIECES: tl.constexpr = BLOCK // TILE
    place = tl.load(order_ptr + tl.program_id(0) // PIECES)
    row = tl.program_id(0) % PIECES * TILE + tl.arange(0, TILE)
    begin, end = tl.load(begins_ptr + place), tl.load(begins_ptr + place + 1)
    return place, row, begin * PIECES, end * PIECES


@triton.jit
def _step(lists, piece, BLOCK: tl.constexpr, TILE: tl.constexpr):
    """The block of one tile on the way, and the tile's rows there."""
    PIECES: tl.constexpr = BLOCK // TILE
    return tl.load(lists[1] + piece // PIECES), piece % PIECES * TILE + tl.arange(0, TILE)


@triton.jit
def _log_sums(
    q, k, lse_ptr, lists, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK: tl.constexpr,
    TILE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    place, row, begin, end = _walk(lists, BLOCK, TILE)
    head, batch = tl.program_id(1), tl.program_id(2)
    q_tile = _tile(q, batch, place, head, row, HEAD_DIM, BLOCK_D)
    top = tl.full([TILE], float("-inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    # A query's first tile has a key that it sees: earlier blocks are seen whole, and of its own
    # block it sees the first key. So `top` is finite from there on.
    for piece in range(begin, end):
        other, n = _step(lists, piece, BLOCK, TILE)
        k_tile = _tile(k, batch, other, head // GROUP, n, HEAD_DIM, BLOCK_D)
        score = tl.dot(q_tile, k_tile.T, input_precision=PRECISION) * scale
        seen = (other != place) | (row[:, None] >= n[None, :])
        score = tl.where(seen, score, float("-inf"))
        new_top = tl.maximum(top, tl.max(score, 1))
        total = total * tl.exp2(top - new_top) + tl.sum(tl.exp2(score - new_top[:, None]), 1)
        top = new_top
    first = (batch.to(tl.int64) * tl.num_programs(1) + head) * tl.num_programs(0) * TILE
    tl.store(lse_ptr + first + place * BLOCK + row, top + tl.log2(total))


@triton.jit
def _to_queries(
    q, k, v, grad, lse_ptr, delta_ptr, dq, lists, scale, slope_scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK: tl.constexpr,
    TILE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    place, row, begin, end = _walk(lists, BLOCK, TILE)
    head, batch = tl.program_id(1), tl.program_id(2)
    q_tile = _tile(q, batch, place, head, row, HEAD_DIM, BLOCK_D)
    grad_tile = _tile(grad, batch, place, head, row, HEAD_DIM, BLOCK_D)
    first = (batch.to(tl.int64) * tl.num_programs(1) + head) * tl.num_programs(0) * TILE
    lse = tl.load(lse_ptr + first + place * BLOCK + row)
    delta = tl.load(delta_ptr + first + place * BLOCK + row)
    total = tl.zeros([TILE, BLOCK_D], tl.float32)
    for piece in range(begin, end):
        other, n = _step(lists, piece, BLOCK, TILE)
        k_tile = _tile(k, batch, other, head // GROUP, n, HEAD_DIM, BLOCK_D)
        v_tile = _tile(v, batch, other, head // GROUP, n, HEAD_DIM, BLOCK_D)
        score = tl.dot(q_tile, k_tile.T, input_precision=PRECISION) * scale
        seen = (other != place) | (row[:, None] >= n[None, :])
        share = tl.where(seen, tl.exp2(score - lse[:, None]), 0.0)
        slope = share * (tl.dot(grad_tile, v_tile.T, input_precision=PRECISION) - delta[:, None])
        total = tl.dot(slope.to(k_tile.dtype), k_tile, total, input_precision=PRECISION)
    _put(dq, batch, place, head, row, total * slope_scale, HEAD_DIM, BLOCK_D)


@triton.jit
def _to_keys(
    q, k, v, grad, lse_ptr, delta_ptr, dk, dv, lists, scale, slope_scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK: tl.constexpr,
    TILE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    place, n, begin, end = _walk(lists, BLOCK, TILE)
    kv_head, batch = tl.program_id(1), tl.program_id(2)
    k_tile = _tile(k, batch, place, kv_head, n, HEAD_DIM, BLOCK_D)
    v_tile = _tile(v, batch, place, kv_head, n, HEAD_DIM, BLOCK_D)
    dk_tile = tl.zeros([TILE, BLOCK_D], tl.float32)
    dv_tile = tl.zeros([TILE, BLOCK_D], tl.float32)
    for member in range(GROUP):
        head = kv_head * GROUP + member
        heads = tl.num_programs(1) * GROUP
        first = (batch.to(tl.int64) * heads + head) * tl.num_programs(0) * TILE
        for piece in range(begin, end):
            other, row = _step(lists, piece, BLOCK, TILE)
            q_tile = _tile(q, batch, other, head, row, HEAD_DIM, BLOCK_D)
            grad_tile = _tile(grad, batch, other, head, row, HEAD_DIM, BLOCK_D)
            lse = tl.load(lse_ptr + first + other * BLOCK + row)
            delta = tl.load(delta_ptr + first + other * BLOCK + row)
            score = tl.dot(k_tile, q_tile.T, input_precision=PRECISION) * scale
            seen = (other != place) | (row[None, :] >= n[:, None])
            share = tl.where(seen, tl.exp2(score - lse[None, :]), 0.0)
            kind = grad_tile.dtype
            dv_tile = tl.dot(share.to(kind), grad_tile, dv_tile, input_precision=PRECISION)
            slope = tl.dot(v_tile, grad_tile.T, input_precision=PRECISION) - delta[None, :]
            slope = (share * slope).to(kind)
            dk_tile = tl.dot(slope, q_tile, dk_tile, input_precision=PRECISION)
    _put(dk, batch, place, kv_head, n, dk_tile * slope_scale, HEAD_DIM, BLOCK_D)
    _put(dv, batch, place, kv_head, n, dv_tile, HEAD_DIM, BLOCK_D)


def gradients(
    keep: Tensor, inputs: Mapping[str, Tensor], out: Tensor, grad: Tensor, axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """dq, dk, dv as q, k, v [batch, blocks, block, heads, head_dim]; `out` is what forward gave.

    `block` is a power of two of 16 at least.
    """
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    batch, blocks, block, heads, width = q.shape
    kv_heads = k.shape[3]
    grad = grad if grad.stride(4) == 1 else grad.contiguous()
    delta = (out.float() * grad.float()).sum(-1).flatten(1, 2).transpose(1, 2).contiguous()
    lse = torch.empty_like(delta)
    dq, dk, dv = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    seen = allowed(keep, axes)
    rows, columns = _listed(seen), _listed(seen.T)
    shape: dict[str, Any] = {
        "GROUP": heads // kv_heads,
        "HEAD_DIM": width,
        "BLOCK_D": max(16, triton.next_power_of_2(width)),
        "BLOCK": block,
        "TILE": min(block, 64 if q.element_size() == 2 else 32),
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        "PRECISION": "ieee",
        "num_stages": 2,
    }
    tiles, scale = blocks * (block // shape["TILE"]), width**-0.5
    at_queries, at_keys = (tiles, heads, batch), (tiles, kv_heads, batch)
    given = [(x, *x.stride()[:4]) for x in (q, k, v, grad)]
    to_q, to_k, to_v = ((x, *x.stride()[:4]) for x in (dq, dk, dv))
    scales = (scale * LOG2_E, scale)
    _log_sums[at_queries](*given[:2], lse, rows, scales[0], num_warps=4, **shape)
    _to_queries[at_queries](*given, lse, delta, to_q, rows, *scales, num_warps=4, **shape)
    # Two sums a program: with heads of 128 four warps have too few registers for them.
    warps = 8 if shape["BLOCK_D"] >= 128 else 4
    _to_keys[at_keys](*given, lse, delta, to_k, to_v, columns, *scales, num_warps=warps, **shape)
    return {"q": dq, "k": dk, "v": dv}


def _listed(seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where each row's list begins, the true columns row by row, and the rows by length.

    Sized as if all were true, because counting them on the host would wait for the GPU.
    """
    length = seen.sum(1)
    begins = torch.nn.functional.pad(length.cumsum(0), (1, 0)).to(torch.int32)
    places = (~seen).flatten().to(torch.int8).argsort(stable=True) % seen.shape[1]
    return begins, places.to(torch.int32), length.argsort(descending=True).to(torch.int32)
