"""What the operator and its Program should give."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

EPS = 1e-5
LEAST_TOP = 1e-10
MOST = 448.0


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`q` and `sum` [tokens, hidden] and `scale` [tokens], rounded as the Definition says."""
    kept = (inputs["x"].float() + inputs["residual"].float()).to(inputs["x"].dtype).to(dtype)
    inverse = torch.rsqrt(kept.square().mean(-1, keepdim=True) + EPS)
    normed = kept * inverse * state["weight"].to(dtype)
    scale = normed.abs().amax(-1).clamp(min=LEAST_TOP) / MOST
    # The bound only removes a rounding of the quotient: FP8 has nothing above it but NaN.
    q = (normed / scale[:, None]).clamp(-MOST, MOST).float().to(torch.float8_e4m3fn)
    return {"q": q.to(dtype), "scale": scale, "sum": kept}


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """`y` [tokens, qkv_heads, head_dim] and `stream` [tokens, hidden].

    In fp64 on the processor and fp32 on a GPU. What the step stores is rounded to the inputs'
    dtype, as FP8 would magnify the difference.
    """
    kind = inputs["x"].dtype
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32

    def stored(tensor: Tensor) -> Tensor:
        return tensor.to(kind).to(dtype)

    before = reference({"weight": state["norm_mlp"]}, inputs, axes, dtype)
    gate_up = stored(_product(before, state["w_gate_up"].flatten(0, 1), state["s_gate_up"]))
    gate, up = gate_up.chunk(2, -1)
    down = stored(stored(F.silu(gate)) * up) @ state["w_down"].to(dtype).T
    after = reference(
        {"weight": state["norm_attention"]},
        {"x": down.to(kind), "residual": before["sum"].to(kind)},
        axes,
        dtype,
    )
    y = _product(after, state["w_qkv"].flatten(0, 1), state["s_qkv"])
    return {"y": y.unflatten(1, state["s_qkv"].shape), "stream": after["sum"]}


def _product(quantised: Mapping[str, Tensor], weight: Tensor, scale: Tensor) -> Tensor:
    """Rows and columns by their scales."""
    product = quantised["q"] @ weight.to(quantised["q"].dtype).T
    return product * quantised["scale"][:, None] * scale.flatten().to(product.dtype)
