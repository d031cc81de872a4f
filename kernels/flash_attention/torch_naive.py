"""Attention as the formula stands: scores, softmax, weighted sum, each through memory.

What attention cost before FlashAttention (Dao et al., 2022). The score matrix of one prompt,
[heads, seq_len, seq_len], is written, masked, normalised and read again, so the time is that of
moving it and not that of the products. Beside it the libraries' kernels, and ours, keep scores on
the chip. One prompt at a time, so that the matrix fits.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Attend over whole prompts; writes all of out["out"] [batch, seq_len, heads, head_dim]."""
    length = inputs["q"].shape[1]
    later = torch.ones(length, length, dtype=torch.bool, device=inputs["q"].device).triu_(1)
    for q, k, v, result in zip(inputs["q"], inputs["k"], inputs["v"], out["out"], strict=True):
        _attend(q, k, v, later, result)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """Nothing: the operator has no state."""


def _attend(q: Tensor, k: Tensor, v: Tensor, later: Tensor, result: Tensor) -> None:
    """One prompt; every tensor is [seq_len, heads, head_dim]."""
    group, scale = q.shape[1] // k.shape[1], q.shape[2] ** -0.5
    k, v = (x.repeat_interleave(group, 1).transpose(0, 1) for x in (k, v))
    scores = torch.bmm((q * scale).transpose(0, 1), k.transpose(1, 2))
    share = torch.softmax(scores.masked_fill_(later, float("-inf")), -1)
    result.copy_(torch.bmm(share, v).transpose(0, 1))
