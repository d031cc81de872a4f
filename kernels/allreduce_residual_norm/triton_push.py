"""The push of `cuda_push.cu` in Triton: a program is a token."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from kernels import peers

EPS = 1e-5


@triton.jit
def _push(
    x,
    residual,
    weight,
    kept,
    normed,
    addresses,
    counts,
    tokens,
    flags_at,
    RANK: tl.constexpr,
    RANKS: tl.constexpr,
    HIDDEN: tl.constexpr,
    BLOCK: tl.constexpr,
    EPS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    count = tl.load(counts + row)
    column = tl.arange(0, BLOCK)
    inside = column < HIDDEN
    at = row * HIDDEN + column
    part = tokens.to(tl.int64) * HIDDEN
    half = (count & 1).to(tl.int64) * RANKS * part
    own = tl.load(x + at, mask=inside, other=0.0)
    for peer in tl.static_range(RANKS):
        theirs = tl.load(addresses + peer).to(tl.pointer_type(x.dtype.element_ty))
        tl.store(theirs + half + RANK * part + at, own, mask=inside)
    tl.debug_barrier()
    for peer in tl.static_range(RANKS):
        flags = (tl.load(addresses + peer) + flags_at).to(tl.pointer_type(tl.int32))
        tl.atomic_xchg(flags + row * RANKS + RANK, count + 1, sem="release", scope="sys")
    mine = tl.load(addresses + RANK)
    for peer in tl.static_range(RANKS):
        flag = (mine + flags_at).to(tl.pointer_type(tl.int32)) + row * RANKS + peer
        seen = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
        while seen < count + 1:
            seen = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
    tl.debug_barrier()
    total = tl.zeros([BLOCK], dtype=tl.float32)
    received = mine.to(tl.pointer_type(x.dtype.element_ty)) + half + at
    for peer in tl.static_range(RANKS):
        total += tl.load(received + peer * part, mask=inside, other=0.0, volatile=True).to(
            tl.float32
        )
    before = tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
    rounded = (total + before).to(x.dtype.element_ty)
    tl.store(kept + at, rounded, mask=inside)
    wide = rounded.to(tl.float32)
    inverse = tl.rsqrt(tl.sum(wide * wide) / HIDDEN + EPS)
    scale = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(normed + at, (wide * inverse * scale).to(x.dtype.element_ty), mask=inside)
    tl.store(counts + row, count + 1)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
    """Open the peers' buffers."""
    weight = state["weight"].contiguous()
    ranks, tokens, hidden = axes["ranks"], axes["tokens"], axes["hidden"]
    flags_at = 2 * ranks * tokens * hidden * weight.itemsize
    shared = peers.workspace("triton_push", flags_at + 4 * tokens * ranks, tokens)
    return weight, shared, flags_at, ranks


def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One call; every rank must make it."""
    weight, shared, flags_at, ranks = prepared
    x = inputs["x"]
    tokens, hidden = x.shape
    _push[(tokens,)](
        x,
        inputs["residual"],
        weight,
        out["sum"],
        out["normed"],
        shared.addresses,
        shared.counts,
        tokens,
        flags_at,
        RANK=shared.rank,
        RANKS=ranks,
        HIDDEN=hidden,
        BLOCK=triton.next_power_of_2(hidden),
        EPS=EPS,
        num_warps=16 if hidden > 4096 else 8,
    )
