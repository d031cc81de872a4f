"""Llama-shaped layers over one prompt, with the feed-forward network in its slot."""

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
NETWORK = ("w_gate_up", "w_down")


@dataclass(frozen=True)
class _Layer:
    norm_attention: Tensor  # [hidden]
    w_qkv: Tensor  # [qkv_heads * head_dim, hidden]
    w_out: Tensor  # [hidden, heads * head_dim]
    norm_mlp: Tensor  # [hidden]
    prepared: Any


class Step:
    """`x` [tokens, hidden] through every layer to `y` [tokens, hidden].

    Causal attention over the tokens, then the network. Built once for a set of weights, then
    called any number of times. A call synchronises with nothing and may be captured in a CUDA
    graph.
    """

    def __init__(
        self, *, solution: Solution, state: Mapping[str, Tensor], axes: Mapping[str, int]
    ) -> None:
        self._run = solution.run
        self._axes = dict(axes)
        like = state["w_qkv"]
        self._layers = [
            _Layer(
                norm_attention=state["norm_attention"][layer],
                w_qkv=state["w_qkv"][layer].flatten(0, 1),
                w_out=state["w_out"][layer].flatten(1),
                norm_mlp=state["norm_mlp"][layer],
                prepared=solution.prepare({name: state[name][layer] for name in NETWORK}, axes),
            )
            for layer in range(axes["layers"])
        ]
        self._cos, self._sin = _rotation(axes["tokens"], axes["head_dim"], like)
        self._given = like.new_empty(axes["tokens"], axes["hidden"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One pass, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        for layer in self._layers:
            x = self._attend(layer, x)
            normed = F.rms_norm(x, (x.shape[1],), layer.norm_mlp, NORM_EPS)
            self._run(layer.prepared, {"x": normed}, {"out": self._given})
            x = x + self._given
        out["y"].copy_(x)

    def _attend(self, layer: _Layer, x: Tensor) -> Tensor:
        tokens, heads = x.shape[0], self._axes["heads"]
        kv_heads = (self._axes["qkv_heads"] - heads) // 2
        normed = F.rms_norm(x, (x.shape[1],), layer.norm_attention, NORM_EPS)
        qkv = F.linear(normed, layer.w_qkv).view(tokens, -1, self._axes["head_dim"])
        q, k, v = qkv.transpose(0, 1).unsqueeze(0).split([heads, kv_heads, kv_heads], 1)
        given = F.scaled_dot_product_attention(
            self._rotate(q), self._rotate(k), v, is_causal=True, enable_gqa=heads != kv_heads
        )
        together = given[0].transpose(0, 1).reshape(tokens, -1)
        return torch.addmm(x, together, layer.w_out.T)

    def _rotate(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return torch.addcmul(x * self._cos, x.roll(half, -1), self._sin)


def _rotation(tokens: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine [tokens, head_dim] of the half-split rotary embedding."""
    half = width // 2
    steps = torch.arange(half, device=like.device, dtype=torch.float64)
    position = torch.arange(tokens, device=like.device, dtype=torch.float64)
    angle = position[:, None] * ROPE_THETA ** (-steps / half)
    cos = torch.cat([angle.cos(), angle.cos()], -1)
    sin = torch.cat([-angle.sin(), angle.sin()], -1)
    return cos.to(like.dtype), sin.to(like.dtype)
