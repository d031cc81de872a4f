"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

NORM_EPS = 1e-5


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`out` [batch, seq_len, hidden]: the table indexed by the ids."""
    return {"out": state["table"][inputs["ids"]].to(dtype)}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """`qkv` of the first layer, in fp64 on the processor and fp32 on a GPU."""
    dtype = torch.float64 if state["table"].device.type == "cpu" else torch.float32
    x = reference(state, inputs, axes, dtype)["out"]
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * state["norm"].to(dtype)
    return {"qkv": torch.einsum("bsh,ndh->bsnd", x, state["w_qkv"].to(dtype))}
