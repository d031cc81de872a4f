"""Transformer layers over whole documents under one block mask, with the operator in its slot."""

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
    norm_attention: Tensor  # [hidden]
    w_qkv: Tensor  # [qkv_heads * head_dim, hidden]
    w_out: Tensor  # [hidden, heads * head_dim]
    norm_mlp: Tensor  # [hidden]
    w_gate_up: Tensor  # [2 * ffn, hidden]
    w_down: Tensor  # [hidden, ffn]
    prepared: Any


class Step:
    """`x` [batch, blocks, block, hidden] through every layer to `y` of the same shape.

    Built once for weights and a mask, then called any number of times. A call synchronises with
    nothing and may be captured in a CUDA graph.
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
                w_gate_up=state["w_gate_up"][layer].flatten(0, 1),
                w_down=state["w_down"][layer],
                prepared=solution.prepare({"keep": state["keep"]}, axes),
            )
            for layer in range(axes["layers"])
        ]
        self._tokens = (axes["batch"], axes["blocks"], axes["block"])
        self._cos, self._sin = _rotation(axes, like)
        self._attended = like.new_empty(*self._tokens, axes["heads"], axes["head_dim"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One pass, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"].flatten(0, 2)
        for layer in self._layers:
            x = self._attend(layer, x)
            x = _mlp(layer, x)
        out["y"].copy_(x.view(out["y"].shape))

    def _attend(self, layer: _Layer, x: Tensor) -> Tensor:
        heads, kv_heads = self._axes["heads"], self._axes["kv_heads"]
        normed = F.rms_norm(x, (x.shape[1],), layer.norm_attention, NORM_EPS)
        qkv = F.linear(normed, layer.w_qkv).view(*self._tokens, -1, self._axes["head_dim"])
        turned = self._rotate(qkv[..., : heads + kv_heads, :])
        document = {
            "q": turned[..., :heads, :],
            "k": turned[..., heads:, :],
            "v": qkv[..., heads + kv_heads :, :],
        }
        self._run(layer.prepared, document, {"out": self._attended})
        return torch.addmm(x, self._attended.view(x.shape[0], -1), layer.w_out.T)

    def _rotate(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return torch.addcmul(x * self._cos, x.roll(half, -1), self._sin)


def _mlp(layer: _Layer, x: Tensor) -> Tensor:
    normed = F.rms_norm(x, (x.shape[1],), layer.norm_mlp, NORM_EPS)
    gate, up = F.linear(normed, layer.w_gate_up).chunk(2, -1)
    return torch.addmm(x, F.silu(gate).mul_(up), layer.w_down.T)


def _rotation(axes: Mapping[str, int], like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine [blocks, block, 1, head_dim] of the half-split rotary embedding."""
    half = axes["head_dim"] // 2
    steps = torch.arange(half, device=like.device, dtype=torch.float64)
    position = torch.arange(axes["blocks"] * axes["block"], device=like.device, dtype=torch.float64)
    angle = torch.outer(position, ROPE_THETA ** (-steps / half))
    angle = angle.view(axes["blocks"], axes["block"], 1, half)
    cos = torch.cat([angle.cos(), angle.cos()], -1)
    sin = torch.cat([-angle.sin(), angle.sin()], -1)
    return cos.to(like.dtype), sin.to(like.dtype)
