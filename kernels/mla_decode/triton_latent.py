"""Paged latent attention in two Triton launches: a page is one tile, key and value at once.

`_chunk_part` gives up to 64 heads of a sequence one chunk of pages. The latent of a page is loaded
once and taken by both products; both tiles of heads of a chunk run side by side, so that the second
finds the page in the L2 cache. Chunks after a sequence's end return at once. `_merge` adds the
chunks up by log-sum-exp and lets the new entry join. `run` reads nothing on the host and may be
captured in a CUDA graph. Under TRITON_INTERPRET=1 it runs on the processor in fp32 and fp16.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_latent needs Triton 3.4 or later: pip install triton") from error

LOG2_E = 1.4426950408889634
# What tl.dot takes at least, and rows of the widest sum that registers keep.
LEAST_ROWS, MOST_ROWS = 16, 64


@dataclass(frozen=True, kw_only=True)
class Config:
    """Pages a program, keys of a tile, warps, and tiles under way."""

    pages: int
    keys: int
    warps: int
    stages: int


CONFIGS = tuple(
    Config(pages=pages, keys=keys, warps=warps, stages=stages)
    for pages, keys, warps, stages in (
        (32, 32, 8, 3),
        (64, 32, 8, 3),
        (32, 64, 16, 2),
        (32, 32, 8, 4),
        (32, 64, 8, 2),
    )
)


@dataclass(frozen=True)
class _Prepared:
    cache: Tensor  # [pages, PAGE, entry_dim]
    part: Tensor  # [batch, heads, chunks, latent_dim] in fp32
    lse: Tensor  # [batch, heads, chunks] in fp32, base 2
    config: Config


@triton.jit
def _chunk_part(
    q_ptr, cache_ptr, table_ptr, last_ptr, part_ptr, lse_ptr,
    stride_q, stride_table, stride_last, heads, chunks, scale,
    LATENT: tl.constexpr, ROPE: tl.constexpr, ROWS: tl.constexpr, PAGE: tl.constexpr,
    PAGES: tl.constexpr, KEYS: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    ENTRY: tl.constexpr = LATENT + ROPE
    chunk, sequence = tl.program_id(1), tl.program_id(2).to(tl.int64)
    tokens = tl.load(last_ptr + sequence * stride_last) + 1
    first = chunk * PAGES
    if first * PAGE < tokens:
        row, key = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, KEYS)
        col, turned = tl.arange(0, LATENT), LATENT + tl.arange(0, ROPE)
        live = row[:, None] < heads
        q_at = q_ptr + sequence * stride_q + row[:, None] * ENTRY
        q = tl.load(q_at + col[None, :], mask=live, other=0.0)
        q_turned = tl.load(q_at + turned[None, :], mask=live, other=0.0)

        # A page's number is read a tile ahead: pages whose number is loaded in the same turn of the
        # loop are not fetched ahead.
        table_at = table_ptr + sequence * stride_table
        page = tl.load(table_at + first).to(tl.int64)
        top = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        acc = tl.zeros([ROWS, LATENT], tl.float32)
        end = tl.minimum((first + PAGES) * PAGE, tokens)
        for start in tl.range(first * PAGE, end, KEYS, num_stages=STAGES):
            known = start + key < tokens
            at = cache_ptr + (page * PAGE + start % PAGE) * ENTRY + key[:, None] * ENTRY
            latent = tl.load(at + col[None, :], mask=known[:, None], other=0.0)
            rest = tl.load(at + turned[None, :], mask=known[:, None], other=0.0)
            following = tl.minimum(start + KEYS, tokens - 1)
            page = tl.load(table_at + following // PAGE).to(tl.int64)
            score = tl.dot(q, latent.T, input_precision=PRECISION)
            score = tl.dot(q_turned, rest.T, score, input_precision=PRECISION) * scale
            score = tl.where(known[None, :], score, float("-inf"))
            new_top = tl.maximum(top, tl.max(score, 1))
            fade = tl.exp2(top - new_top)
            share = tl.exp2(score - new_top[:, None])
            total = total * fade + tl.sum(share, 1)
            acc = acc * fade[:, None]
            acc = tl.dot(share.to(latent.dtype), latent, acc, input_precision=PRECISION)
            top = new_top

        out_row = (sequence * heads + row) * chunks + chunk
        part_at = part_ptr + out_row[:, None] * LATENT + col[None, :]
        tl.store(part_at, acc / total[:, None], mask=live)
        tl.store(lse_ptr + out_row, top + tl.log2(total), mask=row < heads)


@triton.jit
def _merge(
    q_ptr, new_ptr, last_ptr, part_ptr, lse_ptr, out_ptr,
    stride_q, stride_new, stride_last, stride_out, chunks, scale,
    LATENT: tl.constexpr, ROPE: tl.constexpr, EVERY: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    ENTRY: tl.constexpr = LATENT + ROPE
    head, sequence = tl.program_id(0), tl.program_id(1).to(tl.int64)
    heads = tl.num_programs(0)
    every, col, turned = tl.arange(0, EVERY), tl.arange(0, LATENT), LATENT + tl.arange(0, ROPE)
    q_at, new_at = q_ptr + sequence * stride_q + head * ENTRY, new_ptr + sequence * stride_new
    new = tl.load(new_at + col).to(tl.float32)
    own = tl.sum(tl.load(q_at + col).to(tl.float32) * new, 0)
    rest = tl.load(q_at + turned).to(tl.float32) * tl.load(new_at + turned).to(tl.float32)
    score = (own + tl.sum(rest, 0)) * scale

    used = every <= tl.load(last_ptr + sequence * stride_last) // CHUNK
    row = (sequence * heads + head) * chunks + every
    lse = tl.load(lse_ptr + row, mask=used, other=float("-inf"))
    top = tl.maximum(tl.max(lse, 0), score)
    share, own_share = tl.exp2(lse - top), tl.exp2(score - top)
    part = tl.load(part_ptr + row[:, None] * LATENT + col[None, :], mask=used[:, None], other=0.0)
    acc = tl.sum(part * share[:, None], 0) + new * own_share
    acc /= tl.sum(share, 0) + own_share
    tl.store(out_ptr + sequence * stride_out + head * LATENT + col, acc)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    return {f"p{one.pages} k{one.keys} w{one.warps} s{one.stages}": one for one in CONFIGS}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Room for the parts, and the quickest cut for lengths spread evenly.

    NotAvailable without a CUDA GPU.
    """
    cache = state["cache"]
    if not cache.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_latent needs a CUDA GPU; on the processor use torch_online")
    if config is None:
        trial = _trial(cache, axes)
        config = tuning.best(
            source=__file__,
            key=(axes["batch"], axes["pages_each"], axes["heads"], axes["entry_dim"]),
            configs=CONFIGS,
            run=lambda one: run(_with(cache, axes, one), trial, trial),
        )
    return _with(cache, axes, config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, heads, latent_dim]."""
    cache, config = prepared.cache, prepared.config
    q, new, last, table = (inputs[name] for name in ("q", "new", "last", "page_table"))
    batch, heads, chunks, latent = prepared.part.shape
    _, page, entry = cache.shape
    rows = min(MOST_ROWS, max(LEAST_ROWS, triton.next_power_of_2(heads)))
    _chunk_part[(triton.cdiv(heads, rows), chunks, batch)](
        q, cache, table, last, prepared.part, prepared.lse,
        q.stride(0), table.stride(0), last.stride(0), heads, chunks, LOG2_E,
        LATENT=latent, ROPE=entry - latent, ROWS=rows, PAGE=page, PAGES=config.pages,
        KEYS=config.keys, STAGES=config.stages,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee", num_warps=config.warps,
    )  # fmt: skip
    _merge[(heads, batch)](
        q, new, last, prepared.part, prepared.lse, out["out"],
        q.stride(0), new.stride(0), last.stride(0), out["out"].stride(0), chunks, LOG2_E,
        LATENT=latent, ROPE=entry - latent, EVERY=triton.next_power_of_2(chunks),
        CHUNK=page * config.pages, num_warps=4,
    )  # fmt: skip


def _with(cache: Tensor, axes: Mapping[str, int], config: Config) -> _Prepared:
    shape = axes["batch"], axes["heads"], triton.cdiv(axes["pages_each"], config.pages)
    return _Prepared(
        cache=cache,
        part=cache.new_empty(*shape, axes["latent_dim"], dtype=torch.float32),
        lse=cache.new_empty(shape, dtype=torch.float32),
        config=config,
    )


def _trial(cache: Tensor, axes: Mapping[str, int]) -> dict[str, Tensor]:
    """Inputs and output of a call for tuning: scattered pages, lengths spread evenly."""
    batch, pages, heads = axes["batch"], axes["pages_each"], axes["heads"]
    table = torch.arange(batch * pages, dtype=torch.int64, device=cache.device) * 7919
    lasts = torch.arange(1, batch + 1, dtype=torch.int64, device=cache.device)
    return {
        "q": cache.new_ones(batch, heads, axes["entry_dim"]),
        "new": cache.new_ones(batch, axes["entry_dim"]),
        "page_table": (table % len(cache)).int().view(batch, pages),
        "last": (lasts * axes["context_len"] // batch - 1).int(),
        "out": cache.new_empty(batch, heads, axes["latent_dim"]),
    }
