"""Attention in plain torch, one page of every sequence after the other, with an online softmax."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def run(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    """Writes out["out"] [batch, heads, head_dim]; sums are in float32."""
    table, last = inputs["page_table"], inputs["last"]
    q, k_new, v_new = (inputs[name].float() for name in ("q", "k_new", "v_new"))
    q = q.unflatten(1, (k_new.shape[1], -1)) * q.shape[-1] ** -0.5
    page = state["cache_k"].shape[2]
    # The new token opens the softmax: its share of itself is one.
    top = (q * k_new.unsqueeze(2)).sum(-1)
    total = torch.ones_like(top)
    acc = v_new.unsqueeze(2).expand_as(q).clone()
    slot = torch.arange(page, device=q.device)
    for place in range(table.shape[1]):
        k, v = (_page(state, name, table[:, place]) for name in ("k", "v"))
        seen = (place * page + slot <= last[:, None])[:, None, None]
        score = (q @ k.transpose(2, 3)).masked_fill(~seen, float("-inf"))
        new_top = torch.maximum(top, score.amax(-1))
        fade, share = (top - new_top).exp(), (score - new_top[..., None]).exp()
        total = total * fade + share.sum(-1)
        # Slots after the last token are arbitrary, NaN included.
        value = torch.where(seen.transpose(2, 3), v, 0.0)
        acc = acc * fade[..., None] + share @ value
        top = new_top
    out["out"].copy_((acc / total[..., None]).flatten(1, 2))


def _page(state: Mapping[str, Tensor], name: str, pages: Tensor) -> Tensor:
    """One page of every sequence [batch, kv_heads, PAGE, head_dim], widened."""
    pool = state[f"cache_{name}"]
    # As bytes: not every device indexes FP8.
    stored = pool.view(torch.uint8)[pages.long()].view(pool.dtype)
    return stored.float() * state[f"{name}_scale"][:, None, None]
