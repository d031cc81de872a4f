"""Attention blocks over whole prompts, as in prefill, with the operator in its slot."""

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
class _Block:
    norm: Tensor  # [hidden]
    w_qkv: Tensor  # [qkv_heads * head_dim, hidden]
    w_out: Tensor  # [hidden, heads * head_dim]
    prepared: Any


class Step:
    """`x` [batch, seq_len, hidden] through every block to `y` of the same shape.

    Norm, joint projection, rotary embedding, attention, output projection, residual; no MLP.
    Built once for a set of weights, then called any number of times. A call synchronises with
    nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self, *, solution: Solution, state: Mapping[str, Tensor], axes: Mapping[str, int]
    ) -> None:
        self._run = solution.run
        self._axes = dict(axes)
        like = state["w_qkv"]
        self._blocks = [
            _Block(
                norm=state["norm_attention"][layer],
                w_qkv=state["w_qkv"][layer].flatten(0, 1),
                w_out=state["w_out"][layer].flatten(1),
                prepared=solution.prepare({}, axes),
            )
            for layer in range(axes["layers"])
        ]
        self._cos, self._sin = _rotation(axes["seq_len"], axes["head_dim"], like)
        self._attended = like.new_empty(
            axes["batch"], axes["seq_len"], axes["heads"], axes["head_dim"]
        )

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One pass, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"].flatten(0, 1)
        for block in self._blocks:
            x = self._attend(block, x)
        out["y"].copy_(x.view(out["y"].shape))

    def _attend(self, block: _Block, x: Tensor) -> Tensor:
        batch, length = self._axes["batch"], self._axes["seq_len"]
        heads, kv_heads = self._axes["heads"], self._axes["kv_heads"]
        normed = F.rms_norm(x, (x.shape[1],), block.norm, NORM_EPS)
        qkv = F.linear(normed, block.w_qkv).view(batch, length, -1, self._axes["head_dim"])
        turned = self._rotate(qkv[:, :, : heads + kv_heads])
        prompt = {
            "q": turned[:, :, :heads],
            "k": turned[:, :, heads:],
            "v": qkv[:, :, heads + kv_heads :],
        }
        self._run(block.prepared, prompt, {"out": self._attended})
        return torch.addmm(x, self._attended.view(x.shape[0], -1), block.w_out.T)

    def _rotate(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return torch.addcmul(x * self._cos, x.roll(half, -1), self._sin)


def _rotation(length: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine [seq_len, 1, head_dim] of the half-split rotary embedding."""
    half = width // 2
    steps = torch.arange(half, device=like.device, dtype=torch.float64)
    position = torch.arange(length, device=like.device, dtype=torch.float64)
    angle = torch.outer(position, ROPE_THETA ** (-steps / half)).unsqueeze(1)
    cos = torch.cat([angle.cos(), angle.cos()], -1)
    sin = torch.cat([-angle.sin(), angle.sin()], -1)
    return cos.to(like.dtype), sin.to(like.dtype)
