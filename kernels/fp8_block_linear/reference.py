"""What the operator and its Program should give, computed plainly and in higher precision."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

NORM_EPS = 1e-6
BLOCK = 128
LEAST_TOP, MOST = 1e-10, 448.0


def reference(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """`out` [batch, out_features]: the product of both operands times their scales."""
    x = inputs["x"].to(dtype) * inputs["x_scale"].to(dtype).repeat_interleave(BLOCK, 1)
    return {"out": x @ _wide(state["weight"], state["scale"], dtype).T}


def _wide(weight: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    every = scale.to(dtype).repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    return weight.to(dtype) * every


def reference_step(
    *,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The MLP: `y` [batch, hidden], in fp64 on the processor and fp32 on a GPU.

    What the step stores is rounded to the inputs' dtype, as FP8 would magnify the difference.
    """
    kind = inputs["x"].dtype
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32

    def stored(tensor: Tensor) -> Tensor:
        return tensor.to(kind).to(dtype)

    x = inputs["x"].to(dtype)
    inverse = torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS)
    normed = stored(x * inverse * state["norm"].to(dtype))
    gate_up = {"weight": state["w_gate_up"], "scale": state["s_gate_up"]}
    wide = stored(reference(gate_up, quantised(normed), axes, dtype)["out"])
    gate, up = wide.chunk(2, -1)
    inner = stored(stored(F.silu(gate)) * up)
    down = {"weight": state["w_down"], "scale": state["s_down"]}
    return {"y": x + stored(reference(down, quantised(inner), axes, dtype)["out"])}


def quantised(x: Tensor) -> dict[str, Tensor]:
    """FP8 numbers and a float32 scale for every 128 of a row."""
    grouped = x.unflatten(1, (-1, BLOCK)).float()
    scale = grouped.abs().amax(-1).clamp(min=LEAST_TOP) / MOST
    numbers = (grouped / scale[..., None]).clamp(-MOST, MOST).to(torch.float8_e4m3fn)
    return {"x": numbers.flatten(1), "x_scale": scale}
