"""Attend to the shared prompt once for all sequences, to own tokens apart, merge by log-sum-exp.

The prompt's keys are read once instead of once a sequence: all queries of a key/value head
stand in one matrix. Softmax over two sets of keys can be computed apart and merged exactly:
with each part's output o and log-sum-exp l, out = sum(exp(l - max) * o) / sum(exp(l - max)).
Runs wherever torch's own flash attention does, on the processor or a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class _Prepared:
    prefix_k: Tensor  # [1, kv_heads, prefix_len, head_dim]
    prefix_v: Tensor
    own_k: Tensor  # [batch, kv_heads, own_len + 1, head_dim]; the last slot is the new token's
    own_v: Tensor


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """Keep the prompt where it is; copy own tokens to a cache with a free slot."""

    def with_slot(own: Tensor) -> Tensor:
        cache = own.new_empty(own.shape[0], own.shape[1], own.shape[2] + 1, own.shape[3])
        cache[:, :, :-1] = own
        return cache

    return _Prepared(
        prefix_k=state["prefix_k"].unsqueeze(0),
        prefix_v=state["prefix_v"].unsqueeze(0),
        own_k=with_slot(state["own_k"]),
        own_v=with_slot(state["own_v"]),
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One decode token for each sequence; writes all of out["out"] [batch, heads, head_dim]."""
    prepared.own_k[:, :, -1] = inputs["k_new"]
    prepared.own_v[:, :, -1] = inputs["v_new"]
    batch, heads, width = inputs["q"].shape
    kv_heads = prepared.own_k.shape[1]
    group = heads // kv_heads
    q = inputs["q"].view(batch, kv_heads, group, width)
    rows = q.transpose(0, 1).reshape(1, kv_heads, batch * group, width)

    shared, shared_lse = _attend(rows, prepared.prefix_k, prepared.prefix_v)
    own, own_lse = _attend(q, prepared.own_k, prepared.own_v)
    shared = shared.view(kv_heads, batch, group, width).transpose(0, 1)
    shared_lse = shared_lse.view(kv_heads, batch, group).transpose(0, 1)

    # Two parts merge by the sigmoid of the difference of their log-sum-exps.
    weight = torch.sigmoid(shared_lse - own_lse).unsqueeze(-1).to(own.dtype)
    torch.lerp(own, shared, weight, out=out["out"].view(batch, kv_heads, group, width))


def _attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Attention and its log-sum-exp [batch, heads, queries] in float32, by torch's back end.

    scaled_dot_product_attention does not give the log-sum-exp; the operators below it do.
    """
    aten = torch.ops.aten
    if q.device.type == "cpu":
        out, lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
        # Over fewer keys than a vector register holds, it loses a query's NaN (torch 2.13).
        lse = lse + (0 * q).sum(dim=-1)
    elif q.dtype == torch.float32:
        out, lse, *_ = aten._scaled_dot_product_efficient_attention(q, k, v, None, True)
        lse = lse[..., : q.shape[2]]
    else:
        out, lse, *_ = aten._scaled_dot_product_flash_attention(q, k, v)
    return out, lse.float()
