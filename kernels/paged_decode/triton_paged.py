"""Paged decode attention in two Triton launches: FP8 pages read once, widened in registers.

`_chunk_part` gives every sequence and key/value head one chunk of pages, with all query heads of
the group as one tile; programs whose chunk is after the sequence's end return at once, so that
ragged lengths need no plan. `_merge` adds the chunks up by log-sum-exp and lets the new token join.
`run` reads nothing on the host, allocates nothing and may be captured in a CUDA graph.

FP8 is widened to fp16, one instruction for two numbers and exact; queries and shares are fp16, too,
which has more bits than bfloat16. Scales multiply scores and sums. Under TRITON_INTERPRET=1 it runs
on the processor in fp32 and fp16.
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
    raise NotAvailable("triton_paged needs Triton 3.4 or later: pip install triton") from error

LOG2_E = 1.4426950408889634
# What tl.dot takes at least.
LEAST_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class Config:
    """How the work is cut up: pages a program, its warps and the pages under way."""

    pages: int
    warps: int
    stages: int


CONFIGS = tuple(
    Config(pages=pages, warps=warps, stages=stages)
    for pages, warps, stages in ((16, 4, 3), (8, 4, 3), (16, 4, 4), (32, 4, 3), (16, 2, 3))
)


@dataclass(frozen=True)
class _Prepared:
    state: Mapping[str, Tensor]
    part: Tensor  # [batch, heads, chunks, head_dim] in fp32
    lse: Tensor  # [batch, heads, chunks] in fp32, base 2
    config: Config


@triton.jit
def _chunk_part(
    q_ptr, k_ptr, v_ptr, k_scale_ptr, v_scale_ptr, table_ptr, last_ptr, part_ptr, lse_ptr,
    stride_q, stride_table, stride_last, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, ROWS: tl.constexpr, PAGE: tl.constexpr,
    PAGES: tl.constexpr, WIDE: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    chunk, head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    chunks, kv_heads = tl.num_programs(0), tl.num_programs(1)
    tokens = tl.load(last_ptr + sequence * stride_last) + 1
    first = chunk * PAGES
    if first * PAGE < tokens:
        member, slot, col = tl.arange(0, ROWS), tl.arange(0, PAGE), tl.arange(0, HEAD_DIM)
        live = member[:, None] < GROUP
        q_at = sequence.to(tl.int64) * stride_q + (head * GROUP + member[:, None]) * HEAD_DIM
        q = tl.load(q_ptr + q_at + col[None, :], mask=live, other=0.0).to(WIDE)
        scale *= tl.load(k_scale_ptr + head)

        # The chunk's table is read before the loop: pages whose number is itself loaded in the loop
        # are not fetched ahead.
        end = tl.minimum(first + PAGES, tl.cdiv(tokens, PAGE))
        listed = first + tl.arange(0, PAGES)
        row = table_ptr + sequence.to(tl.int64) * stride_table
        table = tl.load(row + listed, mask=listed < end, other=0)
        inside = slot[:, None] * HEAD_DIM + col[None, :]
        top = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        acc = tl.zeros([ROWS, HEAD_DIM], tl.float32)
        for place in tl.range(first, end, num_stages=STAGES):
            page = tl.sum(tl.where(listed == place, table, 0), 0).to(tl.int64)
            at = (page * kv_heads + head) * (PAGE * HEAD_DIM) + inside
            known = place * PAGE + slot < tokens
            k = tl.load(k_ptr + at, mask=known[:, None], other=0.0).to(WIDE)
            v = tl.load(v_ptr + at, mask=known[:, None], other=0.0).to(WIDE)
            score = tl.dot(q, k.T, input_precision=PRECISION) * scale
            score = tl.where(known[None, :], score, float("-inf"))
            new_top = tl.maximum(top, tl.max(score, 1))
            fade = tl.exp2(top - new_top)
            share = tl.exp2(score - new_top[:, None])
            total = total * fade + tl.sum(share, 1)
            acc = tl.dot(share.to(WIDE), v, acc * fade[:, None], input_precision=PRECISION)
            top = new_top

        acc *= tl.load(v_scale_ptr + head) / total[:, None]
        out_row = ((sequence * kv_heads + head) * GROUP + member) * chunks + chunk
        tl.store(part_ptr + out_row[:, None] * HEAD_DIM + col[None, :], acc, mask=live)
        tl.store(lse_ptr + out_row, top + tl.log2(total), mask=member < GROUP)


@triton.jit
def _merge(
    q_ptr, k_new_ptr, v_new_ptr, last_ptr, part_ptr, lse_ptr, out_ptr,
    stride_q, stride_k, stride_v, stride_last, stride_out, chunks, scale,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, EVERY: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    head, sequence = tl.program_id(0), tl.program_id(1).to(tl.int64)
    heads = tl.num_programs(0)
    every, col = tl.arange(0, EVERY), tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + sequence * stride_q + head * HEAD_DIM + col).to(tl.float32)
    own = (head // GROUP) * HEAD_DIM + col
    k_new = tl.load(k_new_ptr + sequence * stride_k + own).to(tl.float32)
    v_new = tl.load(v_new_ptr + sequence * stride_v + own).to(tl.float32)
    score = tl.sum(q * k_new, 0) * scale

    used = every <= tl.load(last_ptr + sequence * stride_last) // CHUNK
    row = (sequence * heads + head) * chunks + every
    lse = tl.load(lse_ptr + row, mask=used, other=float("-inf"))
    top = tl.maximum(tl.max(lse, 0), score)
    share, own_share = tl.exp2(lse - top), tl.exp2(score - top)
    part = tl.load(part_ptr + row[:, None] * HEAD_DIM + col[None, :], mask=used[:, None], other=0.0)
    acc = tl.sum(part * share[:, None], 0) + v_new * own_share
    acc /= tl.sum(share, 0) + own_share
    tl.store(out_ptr + sequence * stride_out + head * HEAD_DIM + col, acc)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    return {f"p{one.pages} w{one.warps} s{one.stages}": one for one in CONFIGS}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Room for the parts, and the quickest cut for sequences of full length.

    NotAvailable without a CUDA GPU.
    """
    if not state["cache_k"].is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_paged needs a CUDA GPU; on the processor use torch_online")
    if config is None:
        trial = _trial(state, axes)
        config = tuning.best(
            source=__file__,
            key=(axes["batch"], axes["pages_each"], *state["cache_k"].shape[1:]),
            configs=CONFIGS,
            run=lambda one: run(_with(state, axes, one), trial, trial),
        )
    return _with(state, axes, config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, heads, head_dim]."""
    state, config = prepared.state, prepared.config
    q, last, table = inputs["q"], inputs["last"], inputs["page_table"]
    batch, heads, chunks, width = prepared.part.shape
    _, kv_heads, page, _ = state["cache_k"].shape
    group, scale = heads // kv_heads, width**-0.5 * LOG2_E
    _chunk_part[(chunks, kv_heads, batch)](
        q, state["cache_k"], state["cache_v"], state["k_scale"], state["v_scale"], table, last,
        prepared.part, prepared.lse, q.stride(0), table.stride(0), last.stride(0), scale,
        GROUP=group, HEAD_DIM=width, ROWS=max(LEAST_ROWS, triton.next_power_of_2(group)),
        PAGE=page, PAGES=config.pages,
        WIDE=tl.float32 if q.dtype == torch.float32 else tl.float16, STAGES=config.stages,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee", num_warps=config.warps,
    )  # fmt: skip
    k_new, v_new = inputs["k_new"], inputs["v_new"]
    _merge[(heads, batch)](
        q, k_new, v_new, last, prepared.part, prepared.lse, out["out"],
        q.stride(0), k_new.stride(0), v_new.stride(0), last.stride(0), out["out"].stride(0),
        chunks, scale, GROUP=group, HEAD_DIM=width, EVERY=triton.next_power_of_2(chunks),
        CHUNK=page * config.pages, num_warps=1 if chunks <= LEAST_ROWS else 4,
    )  # fmt: skip


def _with(state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config) -> _Prepared:
    shape = axes["batch"], axes["heads"], triton.cdiv(axes["pages_each"], config.pages)
    like = state["k_scale"]
    return _Prepared(
        state=state,
        part=like.new_empty(*shape, axes["head_dim"]),
        lse=like.new_empty(shape),
        config=config,
    )


def _trial(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> dict[str, Tensor]:
    """Inputs and output of a call for tuning: scattered pages, lengths spread evenly."""
    like, batch, pages = state["k_scale"], axes["batch"], axes["pages_each"]
    table = torch.arange(batch * pages, dtype=torch.int64, device=like.device) * 7919
    lasts = torch.arange(1, batch + 1, dtype=torch.int64, device=like.device)
    query = like.new_zeros(batch, axes["heads"], axes["head_dim"], dtype=torch.float16)
    token = like.new_zeros(batch, axes["kv_heads"], axes["head_dim"], dtype=torch.float16)
    return {
        "q": query,
        "k_new": token,
        "v_new": token,
        "page_table": (table % len(state["cache_k"])).int().view(batch, pages),
        "last": (lasts * axes["context_len"] // batch - 1).int(),
        "out": torch.empty_like(query),
    }
