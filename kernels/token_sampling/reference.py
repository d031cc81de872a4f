"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

COLDEST = 0.01


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`token` [batch] and `probability` [batch, most_k], from the vocabulary in falling order."""
    values, ids = inputs["logits"].to(dtype).sort(dim=-1, descending=True, stable=True)
    values, ids = values[:, : axes["most_k"]], ids[:, : axes["most_k"]]
    cold = inputs["temperature"].to(dtype).clamp(min=COLDEST)[:, None]
    rank = torch.arange(axes["most_k"], device=values.device)
    allowed = rank <= inputs["top_k"][:, None]
    share = torch.softmax((values / cold).masked_fill(~allowed, float("-inf")), -1)
    before = share.cumsum(-1) - share
    kept = share.masked_fill((before >= inputs["top_p"].to(dtype)[:, None]) & (rank > 0), 0.0)
    probability = kept / kept.sum(-1, keepdim=True)
    passed = probability.cumsum(-1) <= inputs["chance"].to(dtype)[:, None]
    place = torch.minimum(passed.sum(-1), (kept > 0).sum(-1) - 1)
    token = ids.gather(1, place[:, None])[:, 0]
    return {"token": token.to(dtype), "probability": probability}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """As `reference`; logits are in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    logits = inputs["x"].to(dtype) @ state["w_vocab"].to(dtype).T
    return reference({}, {**inputs, "logits": logits}, axes)
