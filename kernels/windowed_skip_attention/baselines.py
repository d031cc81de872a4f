"""What one gets off the shelf: scaled_dot_product_attention with masks, and FlexAttention."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

# Queries handed to one banded call. On the processor a smaller block wastes fewer masked
# pairs; on a GPU a larger one needs fewer launches.
BAND = {"cpu": 128, "cuda": 512}
# FlexAttention skips work in blocks of this many queries and keys.
FLEX_BLOCK = 128


def _rule(query: Tensor, key: Tensor, axes: Mapping[str, int]) -> Tensor:
    distance = query[:, None] - key[None, :]
    near = distance < axes["window"]
    return (distance >= 0) & (near | (key % axes["stride"] == 0)[None, :])


@dataclass
class _Dense:
    """The whole pattern as one mask, made on the first call, when the device is known."""

    axes: Mapping[str, int]
    mask: Tensor | None = None

    def mask_on(self, device: torch.device) -> Tensor:
        if self.mask is None:
            position = torch.arange(self.axes["seq_len"], device=device)
            self.mask = _rule(position, position, self.axes)
        return self.mask


def _prepare_dense(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Dense:
    return _Dense(axes)


def _run_dense(prepared: _Dense, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    q, k, v = (inputs[name].transpose(1, 2) for name in ("q", "k", "v"))
    grouped = q.shape[1] != k.shape[1]
    if grouped and q.device.type == "cuda":
        # The one CUDA back end that takes a mask wants as many key heads as query heads.
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        grouped = False
    attended = F.scaled_dot_product_attention(
        q, k, v, attn_mask=prepared.mask_on(q.device), enable_gqa=grouped
    )
    out["out"].copy_(attended.transpose(1, 2))


def sdpa() -> Solution:
    """One call with a [seq_len, seq_len] mask: simple, and computes every masked pair."""
    return Solution(name="sdpa", prepare=_prepare_dense, run=_run_dense)


@dataclass(frozen=True)
class _Piece:
    begin: int  # queries [begin, end)
    end: int
    near: int  # keys [near, end) beside the skip keys before `near`
    mask: Tensor  # [group * (end - begin), keys], to be added to the scores


@dataclass
class _Banded:
    axes: Mapping[str, int]
    pieces: list[_Piece] = field(default_factory=list)

    def pieces_for(self, like: Tensor) -> list[_Piece]:
        if not self.pieces:
            length, block = self.axes["seq_len"], BAND[like.device.type]
            self.pieces = [
                self._piece(begin, min(begin + block, length), like)
                for begin in range(0, length, block)
            ]
        return self.pieces

    def _piece(self, begin: int, end: int, like: Tensor) -> _Piece:
        stride, group = self.axes["stride"], self.axes["heads"] // self.axes["kv_heads"]
        near = max(0, begin - self.axes["window"] + 1) // stride * stride
        position = torch.arange(end, device=like.device)
        keys = torch.cat([position[:near:stride], position[near:]])
        rule = _rule(position[begin:], keys, self.axes).repeat(group, 1)
        # Rows a multiple of 16 bytes apart, which the CUDA back end asks of a mask.
        room = like.new_zeros(rule.shape[0], (rule.shape[1] + 7) // 8 * 8)
        mask = room[:, : rule.shape[1]].masked_fill_(~rule, float("-inf"))
        return _Piece(begin=begin, end=end, near=near, mask=mask)


def _prepare_banded(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Banded:
    return _Banded(axes)


def _run_banded(prepared: _Banded, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    batch, _, heads, width = q.shape
    kv_heads, stride = k.shape[2], prepared.axes["stride"]
    group = heads // kv_heads
    for piece in prepared.pieces_for(q):
        span, size = slice(piece.begin, piece.end), piece.end - piece.begin

        def seen(x: Tensor, piece: _Piece = piece) -> Tensor:
            far, near = x[:, : piece.near : stride], x[:, piece.near : piece.end]
            return torch.cat([far, near], 1).transpose(1, 2)

        # The queries of a group stand one after another, so that K and V are not repeated.
        rows = q[:, span].unflatten(2, (kv_heads, group)).permute(0, 2, 3, 1, 4).flatten(2, 3)
        attended = F.scaled_dot_product_attention(rows, seen(k), seen(v), attn_mask=piece.mask)
        by_query = attended.view(batch, kv_heads, group, size, width).permute(0, 3, 1, 2, 4)
        out["out"][:, span].view(batch, size, kv_heads, group, width).copy_(by_query)


def sdpa_banded() -> Solution:
    """A call for each block of queries over its window and the skip keys before it."""
    return Solution(name="sdpa_banded", prepare=_prepare_banded, run=_run_banded)


def _flex() -> tuple[Callable[..., Any], Callable[..., Any]]:
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError as error:
        raise NotAvailable(
            "FlexAttention needs torch 2.5 or later: pip install -U torch"
        ) from error
    if not torch.cuda.is_available() and not (shutil.which("g++") or shutil.which("clang++")):
        raise NotAvailable("FlexAttention on the processor needs a C++ compiler: install g++")
    return torch.compile(flex_attention, dynamic=False), create_block_mask


@dataclass
class _Flex:
    axes: Mapping[str, int]
    block_mask: Any = None


def _prepare_flex(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Flex:
    return _Flex(axes)


def _run_flex(
    attend: Callable[..., Any],
    make_mask: Callable[..., Any],
    gathered: bool,
    prepared: _Flex,
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
) -> None:
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    stride = prepared.axes["stride"]
    # The skip keys fill whole blocks, so that no block holds both kinds.
    skips = -(-k.shape[1] // stride)
    room = -(-skips // FLEX_BLOCK) * FLEX_BLOCK if gathered else 0
    if gathered:
        k, v = (
            torch.cat([x[:, ::stride], x[:, :1].expand(-1, room - skips, -1, -1), x], 1)
            for x in (k, v)
        )
    if prepared.block_mask is None:
        rule = (
            _gathered_rule(prepared.axes, skips, room) if gathered else _plain_rule(prepared.axes)
        )
        prepared.block_mask = make_mask(rule, None, None, q.shape[1], k.shape[1], device=q.device)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    attended = attend(q, k, v, block_mask=prepared.block_mask, enable_gqa=q.shape[1] != k.shape[1])
    out["out"].copy_(attended.transpose(1, 2))


def _plain_rule(axes: Mapping[str, int]) -> Callable[..., Tensor]:
    window, stride = axes["window"], axes["stride"]

    def rule(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & ((query - key < window) | (key % stride == 0))

    return rule


def _gathered_rule(axes: Mapping[str, int], skips: int, room: int) -> Callable[..., Tensor]:
    window, stride = axes["window"], axes["stride"]

    def rule(_batch: Tensor, _head: Tensor, query: Tensor, slot: Tensor) -> Tensor:
        near = query - (slot - room)
        far = (slot < skips) & (query - slot * stride >= window)
        return torch.where(slot < room, far, (near >= 0) & (near < window))

    return rule


def flex_attention(gathered: bool = False) -> Solution:
    """FlexAttention compiled for this pattern; `gathered` copies the skip keys together first.

    Left where they are, skip keys touch every block of keys when stride <= 128, and nothing
    is skipped.
    """
    attend, make_mask = _flex()
    return Solution(
        name="flex_attention_gathered" if gathered else "flex_attention",
        prepare=_prepare_flex,
        run=partial(_run_flex, attend, make_mask, gathered),
    )


BASELINES: dict[str, Callable[[], Solution]] = {
    "sdpa": sdpa,
    "sdpa_banded": sdpa_banded,
    "flex_attention": flex_attention,
    "flex_attention_gathered": partial(flex_attention, gathered=True),
}
