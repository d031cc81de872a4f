"""The step in plain torch, with the next memory worked on in place."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

UNIT_EPS = 1e-6


def run(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    """Writes out["out"] and out["memory_next"]; batched products with one row of queries."""
    v, memory = inputs["v"].float(), out["memory_next"]
    group = v.shape[1] // inputs["k"].shape[1]
    q, k = (_unit(inputs[name]).repeat_interleave(group, 1)[:, :, None] for name in ("q", "k"))
    rate = state["a_log"].exp() * F.softplus(inputs["a"].float() + state["dt_bias"])
    torch.mul(inputs["memory"], torch.exp(-rate)[..., None, None], out=memory)
    update = inputs["b"].float().sigmoid()[..., None, None] * (v[:, :, None] - k @ memory)
    memory.addcmul_(k.transpose(2, 3), update)
    out["out"].copy_((q @ memory).squeeze(2) * k.shape[-1] ** -0.5)


def _unit(x: Tensor) -> Tensor:
    wide = x.float()
    return wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + UNIT_EPS)
