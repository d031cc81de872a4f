"""Latent attention in plain torch, one page of every sequence after the other."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def run(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    """Writes out["out"] [batch, heads, latent_dim]; sums are in float32."""
    table, last, cache = inputs["page_table"], inputs["last"], state["cache"]
    latent, page = out["out"].shape[2], cache.shape[1]
    q, new = inputs["q"].float(), inputs["new"].float()[:, None]
    # The new token opens the softmax: its share of itself is one.
    top = (q * new).sum(-1)
    total = torch.ones_like(top)
    acc = new[..., :latent].expand(-1, q.shape[1], -1).clone()
    slot = torch.arange(page, device=q.device)
    for place in range(table.shape[1]):
        seen = place * page + slot <= last[:, None]
        # Slots after the last token are arbitrary, NaN included.
        keys = torch.where(seen[..., None], cache[table[:, place].long()].float(), 0.0)
        score = (q @ keys.transpose(1, 2)).masked_fill(~seen[:, None], float("-inf"))
        new_top = torch.maximum(top, score.amax(-1))
        fade, share = (top - new_top).exp(), (score - new_top[..., None]).exp()
        total = total * fade + share.sum(-1)
        acc = acc * fade[..., None] + share @ keys[..., :latent]
        top = new_top
    out["out"].copy_(acc / total[..., None])
