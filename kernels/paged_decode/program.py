"""One decode step of a Llama-shaped model over a paged cache, with the operator in its slot.

The pages are read only: storing the new token is a kernel of its own in serving stacks, the same
whichever attention follows it, and is not part of the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5
CACHE = ("cache_k", "cache_v", "k_scale", "v_scale")


@dataclass(frozen=True)
class _Layer:
    norm_attention: Tensor  # [hidden]
    w_qkv: Tensor  # [qkv_heads * head_dim, hidden]
    w_out: Tensor  # [hidden, heads * head_dim]
    norm_mlp: Tensor  # [hidden]
    w_gate_up: Tensor  # [2 * ffn, hidden]
    w_down: Tensor  # [hidden, ffn]
    prepared: Any


class Step:
    """`x` [batch, hidden] through every layer to `y` [batch, hidden].

    Sequence b is at position last[b] + 1. A call synchronises with nothing and may be captured in
    a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._axes = dict(axes)
        self._layers = [
            _Layer(
                norm_attention=state["norm_attention"][layer],
                w_qkv=state["w_qkv"][layer].flatten(0, 1),
                w_out=state["w_out"][layer].flatten(1),
                norm_mlp=state["norm_mlp"][layer],
                w_gate_up=state["w_gate_up"][layer].flatten(0, 1),
                w_down=state["w_down"][layer],
                prepared=solution.prepare({name: state[name][layer] for name in CACHE}, axes),
            )
            for layer in range(axes["layers"])
        ]
        like = state["w_qkv"]
        self._rotations = _rotations(axes["context_len"] + 1, axes["head_dim"], like)
        self._attended = like.new_empty(axes["batch"], axes["heads"], axes["head_dim"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        place = {name: inputs[name] for name in ("page_table", "last")}
        cos, sin = self._rotations[:, inputs["last"] + 1].unsqueeze(2)
        for layer in self._layers:
            x = self._attend(layer, x, place, cos, sin)
            x = _mlp(layer, x)
        out["y"].copy_(x)

    def _attend(
        self, layer: _Layer, x: Tensor, place: Mapping[str, Tensor], cos: Tensor, sin: Tensor
    ) -> Tensor:
        heads, kv_heads = self._axes["heads"], self._axes["kv_heads"]
        normed = F.rms_norm(x, (x.shape[1],), layer.norm_attention, NORM_EPS)
        qkv = F.linear(normed, layer.w_qkv).view(len(x), -1, self._axes["head_dim"])
        turning = qkv[:, : heads + kv_heads]
        half = turning.shape[-1] // 2
        turned = torch.addcmul(turning * cos, turning.roll(half, -1), sin)
        token = {
            "q": turned[:, :heads],
            "k_new": turned[:, heads:],
            "v_new": qkv[:, heads + kv_heads :],
            **place,
        }
        self._run(layer.prepared, token, {"out": self._attended})
        return torch.addmm(x, self._attended.view(len(x), -1), layer.w_out.T)


def _mlp(layer: _Layer, x: Tensor) -> Tensor:
    normed = F.rms_norm(x, (x.shape[1],), layer.norm_mlp, NORM_EPS)
    gate, up = F.linear(normed, layer.w_gate_up).chunk(2, -1)
    return torch.addmm(x, F.silu(gate).mul_(up), layer.w_down.T)


def _rotations(positions: int, width: int, like: Tensor) -> Tensor:
    """Cosine and signed sine [2, positions, head_dim] of the half-split rotary embedding."""
    half = width // 2
    steps = torch.arange(half, device=like.device, dtype=torch.float64)
    places = torch.arange(positions, device=like.device, dtype=torch.float64)
    angle = places[:, None] * ROPE_THETA ** (-steps / half)
    cos = torch.cat([angle.cos(), angle.cos()], -1)
    sin = torch.cat([-angle.sin(), angle.sin()], -1)
    return torch.stack([cos, sin]).to(like.dtype)
