"""Small blocks of queries, many to a call: less masked work than wide blocks, fewer calls.

A block of queries needs its window, the block itself and the skip keys before them. Small
blocks waste few masked pairs but mean many calls; here the blocks of one span of queries share
a call, their keys gathered side by side. Runs on the processor and on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK = 32
# Blocks of one span are padded to the same number of skip keys, so spans stay short.
BLOCKS_IN_SPAN = 8


@dataclass(frozen=True)
class _Span:
    """Blocks of equal size that are attended to in one call."""

    begin: int
    size: int  # queries in a block
    blocks: int
    keys: Tensor  # [blocks * seen], positions to gather
    mask: Tensor  # [blocks, 1, group * size, seen], to be added to the scores


@dataclass
class _Prepared:
    axes: Mapping[str, int]
    spans: list[_Span] = field(default_factory=list)

    def spans_for(self, like: Tensor) -> list[_Span]:
        """The plan, made on the first call, when device and dtype are known."""
        if not self.spans:
            length = self.axes["seq_len"]
            whole = length // BLOCK * BLOCK
            for begin in range(0, whole, BLOCK * BLOCKS_IN_SPAN):
                blocks = min(BLOCKS_IN_SPAN, (whole - begin) // BLOCK)
                self.spans.append(_span(begin, BLOCK, blocks, self.axes, like))
            if whole < length:
                self.spans.append(_span(whole, length - whole, 1, self.axes, like))
        return self.spans


def _span(begin: int, size: int, blocks: int, axes: Mapping[str, int], like: Tensor) -> _Span:
    window, stride = axes["window"], axes["stride"]
    group = axes["heads"] // axes["kv_heads"]
    device = like.device
    first = begin + size * torch.arange(blocks, device=device)[:, None]
    low = first - window + 1  # below 0 where the document begins inside the window
    last_low = begin + size * (blocks - 1) - window + 1
    skips = max(0, -(-last_low // stride))
    far = (stride * torch.arange(skips, device=device)).expand(blocks, -1)
    near = low + torch.arange(window - 1 + size, device=device)
    query = (first + torch.arange(size, device=device))[:, :, None]
    distance = query - near[:, None, :]
    on_skip = (near % stride == 0)[:, None, :]
    near_rule = (distance >= 0) & ((distance < window) | on_skip) & (near >= 0)[:, None, :]
    far_rule = (far < low)[:, None, :].expand(-1, size, -1)
    rule = torch.cat([far_rule, near_rule], 2).repeat(1, group, 1)
    # Rows a multiple of 16 bytes apart, which the CUDA back end asks of a mask.
    room = like.new_zeros(blocks, 1, rule.shape[1], (rule.shape[2] + 7) // 8 * 8)
    mask = room[..., : rule.shape[2]].masked_fill_(~rule.unsqueeze(1), float("-inf"))
    keys = torch.cat([far, near.clamp(min=0)], 1).flatten()
    return _Span(begin=begin, size=size, blocks=blocks, keys=keys, mask=mask)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """Nothing but the sizes: the operator has no state."""
    return _Prepared(axes)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Attend over whole documents; writes all of out["out"] [batch, seq_len, heads, head_dim]."""
    for q, k, v, result in zip(inputs["q"], inputs["k"], inputs["v"], out["out"], strict=True):
        for span in prepared.spans_for(q):
            _attend(span, q, k, v, result)


def _attend(span: _Span, q: Tensor, k: Tensor, v: Tensor, result: Tensor) -> None:
    """One call for the blocks of a span; every tensor is one document's."""
    kv_heads, width = k.shape[1:]
    group = q.shape[1] // kv_heads
    end = span.begin + span.blocks * span.size

    def seen(x: Tensor) -> Tensor:
        return x.index_select(0, span.keys).view(span.blocks, -1, kv_heads, width).transpose(1, 2)

    # The queries of a group stand one after another, so that K and V are not repeated.
    shape = (span.blocks, span.size, kv_heads, group, width)
    rows = q[span.begin : end].reshape(shape).permute(0, 2, 3, 1, 4).flatten(2, 3)
    attended = F.scaled_dot_product_attention(rows, seen(k), seen(v), attn_mask=span.mask)
    by_query = attended.view(span.blocks, kv_heads, group, span.size, width).permute(0, 3, 1, 2, 4)
    result[span.begin : end].view(shape).copy_(by_query)
