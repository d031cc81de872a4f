"""Scatter tokens to experts and gather their results on the device, in Triton.

Choices are sorted by expert, and each expert's rows are padded to whole tiles, so that no tile of
rows has two experts. Loads are counted on the device and never read by the host: grids have the
size of the worst load, and a program beyond the last tile ends at once.
"""

# Triton's own language: pointers carry no annotation, constexpr arguments are upper case.
# ruff: noqa: ANN001, ANN202, N803
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.moe_routing.choice import popularity

# Tokens that one program chooses for.
CHOOSING_TOKENS = 16


@dataclass(frozen=True)
class Dispatch:
    """Scratch of one layer's calls; rows [tiles * block_m] stand for choices, in order."""

    popularity: Tensor  # [experts] in fp32
    chosen: Tensor  # [tokens, top_k] expert of a choice
    rank: Tensor  # [tokens, top_k] its place among its expert's
    row: Tensor  # [tokens, top_k] where it lies
    share: Tensor  # [tokens, top_k] its weight, in fp32
    loads: Tensor  # [experts] choices of each expert
    expert_of: Tensor  # [most_tiles] expert of a tile
    filled: Tensor  # [most_tiles] rows of a tile that stand for a choice
    tiles: Tensor  # [1] tiles in use
    block_m: int

    @classmethod
    def of(cls, axes: Mapping[str, int], device: torch.device, block_m: int) -> Dispatch:
        """Scratch for calls of these sizes with tiles of `block_m` rows."""
        choices = (axes["tokens"], axes["top_k"])
        most = most_tiles(axes, block_m)

        def whole(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.int32, device=device)

        return cls(
            popularity=popularity(axes, device),
            chosen=whole(*choices),
            rank=whole(*choices),
            row=whole(*choices),
            share=torch.empty(choices, dtype=torch.float32, device=device),
            loads=whole(axes["experts"]),
            expert_of=whole(most),
            filled=whole(most),
            tiles=whole(1),
            block_m=block_m,
        )

    def scatter(self, inputs: Mapping[str, Tensor], rows: Tensor) -> None:
        """Choose, count, and copy each token to the rows of its experts."""
        x, logits = inputs["x"], inputs["router_logits"]
        tokens, top_k = self.chosen.shape
        experts = len(self.loads)
        sizes = {
            "EXPERTS": experts,
            "BLOCK_E": triton.next_power_of_2(experts),
            "TOP_K": top_k,
        }
        self.loads.zero_()
        _choose[(triton.cdiv(tokens, CHOOSING_TOKENS),)](
            logits,
            self.popularity,
            self.chosen,
            self.rank,
            self.share,
            self.loads,
            tokens,
            logits.stride(0),
            BLOCK_T=CHOOSING_TOKENS,
            num_warps=4,
            **sizes,
        )
        most = len(self.expert_of)
        _scatter[(max(tokens, most),)](
            x,
            self.chosen,
            self.rank,
            self.loads,
            self.row,
            rows,
            self.expert_of,
            self.filled,
            self.tiles,
            tokens,
            most,
            x.stride(0),
            WIDTH=x.shape[1],
            BLOCK_W=triton.next_power_of_2(x.shape[1]),
            BLOCK_M=self.block_m,
            num_warps=4,
            **sizes,
        )

    def gather(self, rows: Tensor, out: Tensor) -> None:
        """Each token's rows, weighed and added up: all of out [tokens, hidden]."""
        tokens, width = out.shape
        _gather[(tokens,)](
            rows,
            self.row,
            self.share,
            out,
            out.stride(0),
            WIDTH=width,
            BLOCK_W=triton.next_power_of_2(width),
            TOP_K=self.chosen.shape[1],
            num_warps=4,
        )


def most_tiles(axes: Mapping[str, int], block_m: int) -> int:
    """Tiles that the least even loads need: one of an expert's is not full."""
    return axes["tokens"] * axes["top_k"] // block_m + axes["experts"]


@triton.jit
def _choose(
    logits_ptr,
    popularity_ptr,
    chosen_ptr,
    rank_ptr,
    share_ptr,
    loads_ptr,
    tokens,
    stride_token,
    EXPERTS: tl.constexpr,
    BLOCK_E: tl.constexpr,
    TOP_K: tl.constexpr,
    BLOCK_T: tl.constexpr,
):
    token = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    expert = tl.arange(0, BLOCK_E)
    live, known = token < tokens, expert < EXPERTS
    at = token.to(tl.int64)[:, None] * stride_token + expert[None, :]
    score = tl.load(logits_ptr + at, mask=live[:, None] & known[None, :], other=0.0)
    score += tl.load(popularity_ptr + expert, mask=known, other=float("-inf"))[None, :]

    # Which of a token's choices an expert is; -1 for none.
    order = tl.full((BLOCK_T, BLOCK_E), -1, tl.int32)
    left = score
    for choice in tl.static_range(TOP_K):
        hit = expert[None, :] == tl.argmax(left, 1)[:, None]
        order = tl.where(hit, choice, order)
        left = tl.where(hit, float("-inf"), left)
    picked = ((order >= 0) & live[:, None]).to(tl.int32)
    load = tl.sum(picked, 0)
    before = tl.atomic_add(loads_ptr + expert, load, mask=load > 0)
    rank = before[None, :] + tl.cumsum(picked, 0) - picked
    share = tl.where(order >= 0, tl.exp(score - tl.max(score, 1)[:, None]), 0.0)
    share /= tl.sum(share, 1)[:, None]
    for choice in tl.static_range(TOP_K):
        hit, place = order == choice, token * TOP_K + choice
        tl.store(chosen_ptr + place, tl.sum(tl.where(hit, expert[None, :], 0), 1), mask=live)
        tl.store(rank_ptr + place, tl.sum(tl.where(hit, rank, 0), 1), mask=live)
        tl.store(share_ptr + place, tl.sum(tl.where(hit, share, 0.0), 1), mask=live)


@triton.jit
def _scatter(
    x_ptr,
    chosen_ptr,
    rank_ptr,
    loads_ptr,
    row_ptr,
    rows_ptr,
    expert_of_ptr,
    filled_ptr,
    tiles_ptr,
    tokens,
    most_tiles,
    stride_token,
    EXPERTS: tl.constexpr,
    BLOCK_E: tl.constexpr,
    TOP_K: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_W: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    me = tl.program_id(0)
    expert = tl.arange(0, BLOCK_E)
    load = tl.load(loads_ptr + expert, mask=expert < EXPERTS, other=0)
    tiles = (load + BLOCK_M - 1) // BLOCK_M
    end = tl.cumsum(tiles, 0)
    begin = (end - tiles) * BLOCK_M
    # Program i copies token i and sets the expert of tile i.
    if me < tokens:
        col = tl.arange(0, BLOCK_W)
        wide = col < WIDTH
        x = tl.load(x_ptr + me.to(tl.int64) * stride_token + col, mask=wide, other=0.0)
        for choice in tl.static_range(TOP_K):
            place = me * TOP_K + choice
            mine = expert == tl.load(chosen_ptr + place)
            row = tl.sum(tl.where(mine, begin, 0), 0) + tl.load(rank_ptr + place)
            tl.store(row_ptr + place, row)
            tl.store(rows_ptr + row.to(tl.int64) * WIDTH + col, x, mask=wide)
    if me < most_tiles:
        owner = tl.minimum(tl.sum((end <= me).to(tl.int32), 0), EXPERTS - 1)
        behind = tl.sum(tl.where(expert == owner, begin + load, 0), 0) - me * BLOCK_M
        tl.store(expert_of_ptr + me, owner)
        tl.store(filled_ptr + me, tl.minimum(behind, BLOCK_M))
    if me == 0:
        tl.store(tiles_ptr, tl.max(end, 0))


@triton.jit
def _gather(
    rows_ptr,
    row_ptr,
    share_ptr,
    out_ptr,
    stride_out,
    WIDTH: tl.constexpr,
    BLOCK_W: tl.constexpr,
    TOP_K: tl.constexpr,
):
    token = tl.program_id(0)
    col = tl.arange(0, BLOCK_W)
    wide = col < WIDTH
    total = tl.zeros((BLOCK_W,), tl.float32)
    for choice in tl.static_range(TOP_K):
        row = tl.load(row_ptr + token * TOP_K + choice).to(tl.int64)
        given = tl.load(rows_ptr + row * WIDTH + col, mask=wide, other=0.0)
        total += tl.load(share_ptr + token * TOP_K + choice) * given.to(tl.float32)
    out_at = out_ptr + token.to(tl.int64) * stride_out + col
    tl.store(out_at, total.to(out_ptr.dtype.element_ty), mask=wide)
