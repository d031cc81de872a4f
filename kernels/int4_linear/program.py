"""A decode step of a Llama-shaped model with 4-bit weights; the operator is every linear layer."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

ROPE_THETA = 500_000.0
NORM_EPS = 1e-5


class _Linear:
    """One linear layer of the step by the solution in the slot, with a result of its own."""

    def __init__(self, solution: Solution, weight: Tensor, scale: Tensor, batch: int) -> None:
        axes = {
            "batch": batch,
            "out_features": len(weight),
            "in_features": weight.shape[1],
            "groups": scale.shape[1],
        }
        self._prepared = solution.prepare({"weight": weight, "scale": scale}, axes)
        self._run = solution.run
        self._out = scale.new_empty(batch, len(weight))

    def __call__(self, x: Tensor) -> Tensor:
        self._run(self._prepared, {"x": x}, {"out": self._out})
        return self._out


class _Layer:
    """One layer's weights in their linear layers, and its cache with a slot for the new token."""

    def __init__(self, solution: Solution, state: Mapping[str, Tensor], batch: int) -> None:
        self.norm_attention = state["norm_attention"]
        self.norm_mlp = state["norm_mlp"]
        self.qkv = _Linear(
            solution, state["w_qkv"].flatten(0, 1), state["s_qkv"].flatten(0, 1), batch
        )
        self.out = _Linear(solution, state["w_out"].flatten(1), state["s_out"], batch)
        self.gate_up = _Linear(
            solution, state["w_gate_up"].flatten(0, 1), state["s_gate_up"].flatten(0, 1), batch
        )
        self.down = _Linear(solution, state["w_down"], state["s_down"], batch)
        self.cache = F.pad(torch.stack([state["cache_k"], state["cache_v"]]), (0, 0, 0, 1))


class Step:
    """`x` [batch, hidden] through every layer to `y` [batch, hidden].

    All sequences stand at position context_len. A call synchronises with nothing and may be
    captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._heads, self._kv_heads = axes["heads"], axes["kv_heads"]
        self._layers = [
            _Layer(solution, {name: state[name][layer] for name in state}, axes["batch"])
            for layer in range(axes["layers"])
        ]
        self._cos, self._sin = _rotation(axes, state["norm_mlp"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        for layer in self._layers:
            x = x + layer.out(self._attend(layer, x))
            x = x + _mlp(layer, x)
        out["y"].copy_(x)

    def _attend(self, layer: _Layer, x: Tensor) -> Tensor:
        heads, kv_heads = self._heads, self._kv_heads
        normed = F.rms_norm(x, x.shape[1:], layer.norm_attention, NORM_EPS)
        qkv = layer.qkv(normed).view(len(x), heads + 2 * kv_heads, -1)
        turned = torch.addcmul(qkv * self._cos, qkv.roll(qkv.shape[-1] // 2, -1), self._sin)
        # Keys and values [batch, kv_heads, head_dim] each, to the cache's last slot.
        layer.cache[:, :, :, -1] = turned[:, heads:].unflatten(1, (2, kv_heads)).transpose(0, 1)
        keys, values = layer.cache
        attended = F.scaled_dot_product_attention(
            turned[:, :heads].unsqueeze(2), keys, values, enable_gqa=heads != kv_heads
        )
        return attended.flatten(1)


def _mlp(layer: _Layer, x: Tensor) -> Tensor:
    normed = F.rms_norm(x, x.shape[1:], layer.norm_mlp, NORM_EPS)
    gate, up = layer.gate_up(normed).chunk(2, -1)
    return layer.down(F.silu(gate).mul_(up))


def _rotation(axes: Mapping[str, int], like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine [qkv_heads, head_dim] at position context_len.

    Values are not turned: theirs are one and zero, so that one pass takes the whole projection.
    """
    half = axes["head_dim"] // 2
    steps = torch.arange(half, device=like.device, dtype=torch.float64)
    angle = axes["context_len"] * ROPE_THETA ** (-steps / half)
    cos = torch.ones(axes["qkv_heads"], 2 * half, device=like.device, dtype=torch.float64)
    sin = torch.zeros_like(cos)
    turned = axes["heads"] + axes["kv_heads"]
    cos[:turned] = torch.cat([angle.cos(), angle.cos()])
    sin[:turned] = torch.cat([-angle.sin(), angle.sin()])
    return cos.to(like.dtype), sin.to(like.dtype)
