"""The operator in plain torch, with the vocabulary read once: maxima of groups, then few groups.

The most_k largest logits are in the most_k groups with the largest maxima: any other group has as
many numbers before all of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

GROUP = 128
COLDEST = 0.01


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> int:
    """The number of logits to keep."""
    return axes["most_k"]


def run(most_k: int, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["token"] [batch] and out["probability"] [batch, most_k]."""
    values, ids = _largest(inputs["logits"], most_k)
    rank = torch.arange(most_k, device=values.device)
    values /= inputs["temperature"].float().clamp(min=COLDEST)[:, None]
    values.masked_fill_(rank > inputs["top_k"][:, None], float("-inf"))
    share = torch.softmax(values, -1)
    before = share.cumsum(-1).sub_(share)
    share.masked_fill_((before >= inputs["top_p"].float()[:, None]) & (rank > 0), 0.0)
    torch.div(share, share.sum(-1, keepdim=True), out=out["probability"])
    passed = (out["probability"].cumsum(-1) <= inputs["chance"][:, None]).sum(-1)
    place = torch.minimum(passed, (share > 0).sum(-1) - 1)
    out["token"].copy_(ids.gather(1, place[:, None])[:, 0])


def _largest(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Values and tokens in falling order, the first of equal ones first."""
    grouped = F.pad(logits, (0, -logits.shape[1] % GROUP), value=float("-inf"))
    grouped = grouped.unflatten(1, (-1, GROUP))
    groups = min(count, grouped.shape[1])
    best = grouped.amax(-1).sort(dim=-1, descending=True, stable=True).indices[:, :groups]
    # In the vocabulary's order again, so that a stable sort puts the first of equal ones first.
    best = best.sort(-1).values
    ids = (best[..., None] * GROUP + torch.arange(GROUP, device=logits.device)).flatten(1)
    few = grouped.gather(1, best[..., None].expand(-1, -1, GROUP)).flatten(1)
    values, place = few.sort(dim=-1, descending=True, stable=True)
    return values[:, :count], ids.gather(1, place[:, :count])
