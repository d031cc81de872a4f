"""Template of a candidate in plain torch: shared-prefix decode attention, correct but slow.

Copy it, rename it (torch_mine.py), and replace the bodies of `prepare` and `run`. The interface and
its rules are in kernels/CANDIDATES.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class _Prepared:
    prefix_k: Tensor  # [kv_heads, prefix_len, head_dim]
    prefix_v: Tensor
    own_k: Tensor  # [batch, kv_heads, own_len, head_dim]
    own_v: Tensor


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """Called once a layer, untimed; may copy state to another layout. State is read-only."""
    return _Prepared(
        prefix_k=state["prefix_k"],
        prefix_v=state["prefix_v"],
        own_k=state["own_k"],
        own_v=state["own_v"],
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Timed: queue one call, write every element of out["out"] [batch, heads, head_dim]."""
    batch, heads, width = inputs["q"].shape
    kv_heads = prepared.prefix_k.shape[0]
    q = inputs["q"].reshape(batch, kv_heads, heads // kv_heads, width)

    def joined(prefix: Tensor, own: Tensor, new: Tensor) -> Tensor:
        return torch.cat([prefix.expand(batch, -1, -1, -1), own, new.unsqueeze(2)], 2)

    k = joined(prepared.prefix_k, prepared.own_k, inputs["k_new"])
    v = joined(prepared.prefix_v, prepared.own_v, inputs["v_new"])
    attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    # Over a handful of keys torch's attention for processors loses a query's NaN (torch 2.13).
    attended = attended + (0 * q).sum(-1, keepdim=True)
    out["out"].copy_(attended.reshape(batch, heads, width))
