"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROPE_THETA = 10_000.0
NORM_EPS = 1e-6


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`out` [batch, heads, latent_dim]: one sequence after the other, one softmax over its keys."""
    cache = state["cache"]
    rows = []
    for sequence, last in enumerate(inputs["last"].tolist()):
        token = torch.arange(last + 1, device=cache.device)
        page = inputs["page_table"][sequence][token // cache.shape[1]].long()
        cached = cache[page, token % cache.shape[1]].to(dtype)
        keys = torch.cat([cached, inputs["new"][sequence, None].to(dtype)])
        share = torch.softmax(inputs["q"][sequence].to(dtype) @ keys.T, -1)
        rows.append(share @ keys[:, : axes["latent_dim"]])
    return {"out": torch.stack(rows)}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The attention's half of a layer: `y` [batch, hidden], in fp64, in fp32 on a GPU."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    w = {name: tensor.to(dtype) for name, tensor in state.items() if name != "cache"}
    x, position = inputs["x"].to(dtype), inputs["last"] + 1
    nope, latent = axes["nope_dim"], axes["latent_dim"]
    normed = _rms_norm(x, w["norm"])
    ranked = _rms_norm(normed @ w["w_query_down"].T, w["norm_query"])
    query = torch.einsum("br,hqr->bhq", ranked, w["w_query_up"]) * axes["query_dim"] ** -0.5
    absorbed = torch.einsum("bhn,hnl->bhl", query[..., :nope], w["w_key"])
    turned = _rotate(query[..., nope:], position)
    entry = normed @ w["w_entry"].T
    kept = _rms_norm(entry[:, :latent], w["norm_entry"])
    new = torch.cat([kept, _rotate(entry[:, None, latent:], position)[:, 0]], -1)
    token = {**inputs, "q": torch.cat([absorbed, turned], -1), "new": new}
    attended = reference(state, token, axes, dtype)["out"]
    values = torch.einsum("bhl,hvl->bhv", attended, w["w_value"])
    return {"y": x + values.flatten(1) @ w["w_out"].flatten(1).T}


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight


def _rotate(x: Tensor, position: Tensor) -> Tensor:
    """Rotary embedding of [batch, heads, rope_dim] in the half-split layout."""
    half = x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float64)
    angle = (position.double()[:, None, None] * ROPE_THETA ** (-steps / half)).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
