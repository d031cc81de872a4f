"""One layer of a mixture-of-experts model over a prompt, with the operator in its slot."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

NORM_EPS = 1e-6
ROPE_THETA = 10_000.0


class Step:
    """`x` [tokens, hidden] through experts and attention to `y` [tokens, hidden].

    The step begins at a layer's experts and ends after the next layer's attention, so that the
    router reads the step's own input: what it chooses does not hang on how an attention before
    it was rounded. The router computes in fp32, as models have it. Tokens are one sequence, its
    attention causal. A call synchronises with nothing and may be captured in a CUDA graph if the
    Solution's may.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._state = dict(state)
        self._heads, self._width = axes["heads"], axes["head_dim"]
        experts = {name: state[name] for name in ("w_gate_up", "w_down")}
        self._prepared = solution.prepare(experts, axes)
        self._cos, self._sin = _rotation(axes["tokens"], axes["head_dim"], state["w_qkv"])
        self._routed = state["w_qkv"].new_empty(axes["tokens"], axes["hidden"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = self._attend(self._mix(inputs["x"]))
        out["y"].copy_(x)

    def _mix(self, x: Tensor) -> Tensor:
        state, wide = self._state, x.float()
        spread = torch.rsqrt(wide.square().mean(-1, keepdim=True) + NORM_EPS)
        wide = wide * spread * state["norm_moe"].float()
        normed = wide.to(x.dtype)
        router = {"x": normed, "router_logits": F.linear(wide, state["w_router"])}
        self._run(self._prepared, router, {"out": self._routed})
        gate, up = F.linear(normed, state["w_shared_gate_up"].flatten(0, 1)).chunk(2, -1)
        shared = torch.addmm(x, F.silu(gate).mul_(up), state["w_shared_down"].T)
        return shared.add_(self._routed)

    def _attend(self, x: Tensor) -> Tensor:
        state, tokens = self._state, x.shape[0]
        normed = F.rms_norm(x, (x.shape[1],), state["norm_attention"], NORM_EPS)
        qkv = F.linear(normed, state["w_qkv"].flatten(0, 2))
        q, k, v = qkv.view(tokens, 3, self._heads, self._width).permute(1, 2, 0, 3).unsqueeze(1)
        attended = F.scaled_dot_product_attention(
            self._rotate(q), self._rotate(k), v, is_causal=True
        )
        together = attended[0].transpose(0, 1).reshape(tokens, -1)
        return torch.addmm(x, together, state["w_out"].flatten(1).T)

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
