"""The attention half of a Llama-shaped layer over documents, with the operator in its slot."""

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


@dataclass(frozen=True)
class _Layer:
    norm: Tensor  # [hidden]
    w_qkv: Tensor  # [qkv_heads * head_dim, hidden]
    w_out: Tensor  # [hidden, heads * head_dim]
    prepared: Any


class Step:
    """`x` [batch, seq_len, hidden] through attention and its residual to `y`, layer by layer.

    A call synchronises with nothing and may be captured in a CUDA graph.
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
        like = state["w_qkv"]
        prepared = solution.prepare(_tables(axes, like.device), axes)
        self._layers = [
            _Layer(
                norm=state["norm_attention"][layer],
                w_qkv=state["w_qkv"][layer].flatten(0, 1),
                w_out=state["w_out"][layer].flatten(1),
                prepared=prepared,
            )
            for layer in range(axes["layers"])
        ]

        def room(heads: str) -> Tensor:
            return like.new_empty(axes["batch"], axes["seq_len"], axes[heads], axes["head_dim"])

        self._turned = {"q_turned": room("heads"), "k_turned": room("kv_heads")}

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        for layer in self._layers:
            x = x + self._attend(layer, x)
        out["y"].copy_(x)

    def _attend(self, layer: _Layer, x: Tensor) -> Tensor:
        heads, kv_heads = self._axes["heads"], self._axes["kv_heads"]
        normed = F.rms_norm(x, (x.shape[-1],), layer.norm, NORM_EPS)
        qkv = F.linear(normed, layer.w_qkv).unflatten(-1, (-1, self._axes["head_dim"]))
        q, k, v = qkv.split([heads, kv_heads, kv_heads], 2)
        self._run(layer.prepared, {"q": q, "k": k}, self._turned)
        attended = F.scaled_dot_product_attention(
            self._turned["q_turned"].transpose(1, 2),
            self._turned["k_turned"].transpose(1, 2),
            v.transpose(1, 2),
            is_causal=True,
            enable_gqa=heads != kv_heads,
        )
        return F.linear(attended.transpose(1, 2).flatten(2), layer.w_out)


def _tables(axes: Mapping[str, int], device: torch.device) -> dict[str, Tensor]:
    """Cosines and sines [seq_len, half_dim] in float32, by way of float64 angles."""
    half = axes["half_dim"]
    steps = torch.arange(half, device=device, dtype=torch.float64)
    positions = torch.arange(axes["seq_len"], device=device, dtype=torch.float64)
    angle = positions[:, None] * ROPE_THETA ** (-steps / half)
    return {"cos": angle.cos().float(), "sin": angle.sin().float()}
