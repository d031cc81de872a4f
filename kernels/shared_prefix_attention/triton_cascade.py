"""The shared prompt read once for all sequences, on a CUDA GPU: two Triton launches.

`_prefix_part` gives every key/value head's queries (batch x group rows, one tile on the tensor
cores) one chunk of the prompt; the chunks are spread over the multiprocessors as in
flash-decoding. `_own_part` lets each sequence attend to its own tokens and merges the chunks by
log-sum-exp. `run` allocates nothing and may be captured in a CUDA graph.

Under TRITON_INTERPRET=1 it runs on the processor in fp32 and fp16 (the interpreter's bf16 dot
is wrong).
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    raise NotAvailable("triton_cascade needs Triton 3.4 or later: pip install triton") from error

LOG2_E = 1.4426950408889634
# What tl.dot takes at least.
LEAST_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class Config:
    """How the work is cut up.

    `block_m` is the most query rows of a tile, `programs` how many prefix programs to aim for.
    `bulk`: the prompt's blocks come by the copy engine.
    """

    block_m: int
    block_n: int
    programs: int
    warps: int
    stages: int
    own_block_n: int
    own_warps: int
    bulk: bool = False


@dataclass(frozen=True)
class _Prepared:
    prefix_k: Tensor  # [kv_heads, prefix_len, head_dim], as prefix_v
    prefix_v: Tensor
    own_k: Tensor  # [batch, kv_heads, own_len + 1, head_dim]; the last slot is the new token's
    own_v: Tensor
    part: Tensor  # [splits, kv_heads, rows, head_dim] in fp32
    lse: Tensor  # [splits, kv_heads, rows] in fp32, base 2
    chunk: int
    block_m: int
    config: Config


@triton.jit
def _prefix_part(
    q_ptr, k_source, v_source, part_ptr, lse_ptr, stride_qb, rows, prefix_len, chunk, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, WHOLE: tl.constexpr, BULK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    split, head = tl.program_id(0), tl.program_id(1)
    row = tl.program_id(2) * BLOCK_M + tl.arange(0, BLOCK_M)
    key, col = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    live = (row[:, None] < rows) & (col[None, :] < HEAD_DIM)

    q_at = (row // GROUP) * stride_qb + (head * GROUP + row % GROUP) * HEAD_DIM
    q = tl.load(q_ptr + q_at[:, None] + col[None, :], mask=live, other=0.0)

    begin = split * chunk
    end = tl.minimum(begin + chunk, prefix_len)
    first = head.to(tl.int64) * prefix_len
    if not BULK:
        k_at = k_source + first * HEAD_DIM + col[None, :]
        v_at = v_source + first * HEAD_DIM + col[None, :]

    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for start in range(begin, end, BLOCK_N):
        n = start + key
        # WHOLE: chunks are whole blocks and head_dim fills BLOCK_D, so nothing needs a mask.
        held = (n[:, None] < end) & (col[None, :] < HEAD_DIM)
        if BULK:
            k = k_source.load([(first + start).to(tl.int32), 0])
        elif WHOLE:
            k = tl.load(k_at + n[:, None] * HEAD_DIM)
        else:
            k = tl.load(k_at + n[:, None] * HEAD_DIM, mask=held, other=0.0)
        score = tl.dot(q, k.T, input_precision=PRECISION)
        if not WHOLE:
            score = tl.where(n[None, :] < end, score, float("-inf"))
        # The scale is positive: taken after the maximum, it is part of a fused multiply-add.
        new_top = tl.maximum(top, tl.max(score, 1) * scale)
        fade = tl.exp2(top - new_top)
        share = tl.exp2(score * scale - new_top[:, None])
        total = total * fade + tl.sum(share, 1)
        acc = acc * fade[:, None]
        if BULK:
            v = v_source.load([(first + start).to(tl.int32), 0])
        elif WHOLE:
            v = tl.load(v_at + n[:, None] * HEAD_DIM)
        else:
            v = tl.load(v_at + n[:, None] * HEAD_DIM, mask=held, other=0.0)
        acc = tl.dot(share.to(v.dtype), v, acc, input_precision=PRECISION)
        top = new_top

    out_row = (split * tl.num_programs(1) + head) * rows + row
    tl.store(part_ptr + out_row[:, None] * HEAD_DIM + col[None, :], acc / total[:, None], mask=live)
    tl.store(lse_ptr + out_row, top + tl.log2(total), mask=row < rows)


@triton.jit
def _own_part(
    q_ptr, k_new_ptr, v_new_ptr, k_ptr, v_ptr, part_ptr, lse_ptr, out_ptr,
    stride_qb, stride_kb, stride_vb, stride_ob, rows, own_len, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_G: tl.constexpr,
    BLOCK_N: tl.constexpr, SPLITS: tl.constexpr, EVERY: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    head, kv_heads = tl.program_id(0), tl.num_programs(0)
    seq = tl.program_id(1).to(tl.int64)
    member, key, col = tl.arange(0, BLOCK_G), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    wide = col < HEAD_DIM
    live = (member[:, None] < GROUP) & wide[None, :]

    q_at = (head * GROUP + member) * HEAD_DIM
    q = tl.load(q_ptr + seq * stride_qb + q_at[:, None] + col[None, :], mask=live, other=0.0)

    # The new token opens the softmax, and goes to the cache's last slot for the next step.
    base = (seq * kv_heads + head) * (own_len + 1) * HEAD_DIM
    k_new = tl.load(k_new_ptr + seq * stride_kb + head * HEAD_DIM + col, mask=wide, other=0.0)
    v_new = tl.load(v_new_ptr + seq * stride_vb + head * HEAD_DIM + col, mask=wide, other=0.0)
    tl.store(k_ptr + base + own_len * HEAD_DIM + col, k_new, mask=wide)
    tl.store(v_ptr + base + own_len * HEAD_DIM + col, v_new, mask=wide)
    top = tl.sum(q.to(tl.float32) * k_new.to(tl.float32)[None, :], 1) * scale
    total = tl.full([BLOCK_G], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_G, BLOCK_D], tl.float32) + v_new.to(tl.float32)[None, :]

    block_at = base + key[:, None] * HEAD_DIM + col[None, :]
    for start in range(0, own_len, BLOCK_N):
        held = start + key < own_len
        at, known = block_at + start * HEAD_DIM, held[:, None] & wide[None, :]
        k = tl.load(k_ptr + at, mask=known, other=0.0)
        v = tl.load(v_ptr + at, mask=known, other=0.0)
        score = tl.dot(q, k.T, input_precision=PRECISION) * scale
        score = tl.where(held[None, :], score, float("-inf"))
        new_top = tl.maximum(top, tl.max(score, 1))
        fade = tl.exp2(top - new_top)
        share = tl.exp2(score - new_top[:, None])
        total = total * fade + tl.sum(share, 1)
        acc = tl.dot(share.to(v.dtype), v, acc * fade[:, None], input_precision=PRECISION)
        top = new_top

    # The largest of all is known before a part is read, so that no part waits for another, and
    # the parts are added up as they lie in memory: what the product gave is laid out anew once.
    row = seq * GROUP + member
    every = tl.arange(0, EVERY)[:, None]
    lse_at = lse_ptr + (every * kv_heads + head) * rows + row[None, :]
    known = (every < SPLITS) & (member[None, :] < GROUP)
    lses = tl.load(lse_at, mask=known, other=float("-inf"))
    highest = tl.maximum(top, tl.max(lses, 0))
    own_share = tl.exp2(top - highest)
    parts = tl.zeros([BLOCK_G, BLOCK_D], tl.float32)
    for split in tl.range(SPLITS, num_stages=4):
        at = (split * kv_heads + head) * rows + row
        lse = tl.load(lse_ptr + at, mask=member < GROUP, other=float("-inf"))
        part = tl.load(part_ptr + at[:, None] * HEAD_DIM + col[None, :], mask=live, other=0.0)
        parts += part * tl.exp2(lse - highest)[:, None]
    total = total * own_share + tl.sum(tl.exp2(lses - highest[None, :]), 0)
    out = (acc * own_share[:, None] + parts) / total[:, None]
    out_at = out_ptr + seq * stride_ob + q_at[:, None] + col[None, :]
    tl.store(out_at, out.to(out_ptr.dtype.element_ty), mask=live)


def default_config(item_bytes: int) -> Config:
    """What measured best on an H200 in bf16; fp32 takes blocks that fit its shared memory."""
    config = Config(
        block_m=64, block_n=64, programs=264, warps=4, stages=3, own_block_n=32, own_warps=2
    )
    return config if item_bytes == 2 else replace(config, block_n=32, stages=2, own_block_n=32)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    base = default_config(item_bytes)
    # Tiles of 128 rows read the prompt once where 32 sequences have 4 query heads a key head.
    cuts = [(128, 64, 4, 3, 132), (128, 64, 8, 3, 132), (128, 64, 8, 2, 264), (128, 128, 8, 2, 132)]
    cuts += [(128, 32, 8, 4, 264), (128, 64, 4, 2, 264)]
    cuts += [(64, 64, 4, 3, 264), (64, 64, 4, 2, 396), (64, 128, 4, 2, 264)]
    tried = {}
    for block_m, block_n, warps, stages, programs in cuts:
        for bulk in (False, True):
            shown = f"m{block_m} n{block_n} p{programs} w{warps} s{stages}{' bulk' * bulk}"
            cut = replace(base, block_m=block_m, block_n=block_n, programs=programs, bulk=bulk)
            tried[shown] = replace(cut, warps=warps, stages=stages)
    for block_n, warps in ((32, 4), (64, 4), (128, 4), (128, 8)):
        tried[f"own n{block_n} w{warps}"] = replace(base, own_block_n=block_n, own_warps=warps)
    return tried


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Keep the prompt where it is, copy own tokens to a cache with a free slot, lay out scratch.

    NotAvailable without a CUDA GPU, unless Triton's interpreter is on.
    """
    prefix_k = state["prefix_k"]
    if prefix_k.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_cascade needs a CUDA GPU; on the processor use torch_cascade")
    chosen = config or default_config(prefix_k.element_size())
    kv_heads, prefix_len, width = prefix_k.shape
    rows = axes["batch"] * axes["heads"] // kv_heads
    block_m = min(chosen.block_m, max(LEAST_ROWS, triton.next_power_of_2(rows)))
    chunk = _chunk(prefix_len, kv_heads * triton.cdiv(rows, block_m), chosen)
    splits = triton.cdiv(prefix_len, chunk)
    lse = torch.empty(splits, kv_heads, rows, dtype=torch.float32, device=prefix_k.device)
    part = lse.new_empty(splits, kv_heads, rows, width)
    prefix = prefix_k.contiguous(), state["prefix_v"].contiguous()
    own = _with_slot(state["own_k"]), _with_slot(state["own_v"])
    return _Prepared(*prefix, *own, part, lse, chunk, block_m, chosen)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One decode token for each sequence; writes all of out["out"] [batch, heads, head_dim]."""
    width = inputs["q"].shape[2]
    shape: dict[str, Any] = {
        "GROUP": inputs["q"].shape[1] // prepared.prefix_k.shape[0],
        "HEAD_DIM": width,
        "BLOCK_D": max(16, triton.next_power_of_2(width)),
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        "PRECISION": "ieee",
    }
    scale = width**-0.5 * LOG2_E
    _attend_prefix(prepared, inputs["q"], scale, shape)
    _attend_own(prepared, {**inputs, **out}, scale, shape)


def _attend_prefix(prepared: _Prepared, q: Tensor, scale: float, shape: dict[str, Any]) -> None:
    splits, kv_heads, rows, width = prepared.part.shape
    prefix_len, config = prepared.prefix_k.shape[1], prepared.config
    whole = shape["BLOCK_D"] == width and prefix_len % config.block_n == 0
    bulk = config.bulk and whole and addressable(prepared.prefix_k)
    k, v = (
        TensorDescriptor.from_tensor(tensor.flatten(0, 1), [config.block_n, width])
        if bulk
        else tensor
        for tensor in (prepared.prefix_k, prepared.prefix_v)
    )
    _prefix_part[(splits, kv_heads, triton.cdiv(rows, prepared.block_m))](
        q, k, v, prepared.part, prepared.lse, q.stride(0), rows, prefix_len, prepared.chunk, scale,
        BLOCK_M=prepared.block_m, BLOCK_N=config.block_n, WHOLE=whole, BULK=bulk,
        num_warps=config.warps, num_stages=config.stages, **shape,
    )  # fmt: skip


def _attend_own(
    prepared: _Prepared, tensors: Mapping[str, Tensor], scale: float, shape: dict[str, Any]
) -> None:
    q, k_new, v_new, out = (tensors[name] for name in ("q", "k_new", "v_new", "out"))
    splits, kv_heads, rows, _ = prepared.part.shape
    _own_part[(kv_heads, q.shape[0])](
        q, k_new, v_new, prepared.own_k, prepared.own_v, prepared.part, prepared.lse, out,
        q.stride(0), k_new.stride(0), v_new.stride(0), out.stride(0),
        rows, prepared.own_k.shape[2] - 1, scale,
        BLOCK_G=max(LEAST_ROWS, triton.next_power_of_2(shape["GROUP"])),
        BLOCK_N=prepared.config.own_block_n, SPLITS=splits,
        EVERY=triton.next_power_of_2(splits), num_warps=prepared.config.own_warps, **shape,
    )  # fmt: skip


def _chunk(prefix_len: int, tiles: int, config: Config) -> int:
    """Keys one prefix program reads: whole blocks, so that about `programs` programs share it."""
    blocks = triton.cdiv(prefix_len, config.block_n)
    splits = max(1, min(blocks, config.programs // tiles))
    return triton.cdiv(blocks, splits) * config.block_n


def _with_slot(own: Tensor) -> Tensor:
    batch, kv_heads, own_len, width = own.shape
    cache = own.new_empty(batch, kv_heads, own_len + 1, width)
    cache[:, :, :-1] = own
    return cache
