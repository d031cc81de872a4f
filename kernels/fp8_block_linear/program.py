"""The MLP of a dense DeepSeek-V3 layer in FP8, with the operator as both of its linear layers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

NORM_EPS = 1e-6
BLOCK = 128
LEAST_TOP, MOST = 1e-10, 448.0


class _Linear:
    """One linear layer by the solution in the slot, with a result of its own."""

    def __init__(
        self, solution: Solution, weight: Tensor, scale: Tensor, batch: int, like: Tensor
    ) -> None:
        axes = {
            "batch": batch,
            "out_features": len(weight),
            "in_features": weight.shape[1],
            "out_blocks": len(scale),
            "in_blocks": scale.shape[1],
        }
        self._prepared = solution.prepare({"weight": weight, "scale": scale}, axes)
        self._run = solution.run
        self._out = like.new_empty(batch, len(weight))

    def __call__(self, x: Tensor) -> Tensor:
        grouped = x.unflatten(1, (-1, BLOCK)).float()
        scale = grouped.abs().amax(-1).clamp_(min=LEAST_TOP).div_(MOST)
        numbers = grouped.div_(scale[..., None]).clamp_(-MOST, MOST).to(torch.float8_e4m3fn)
        self._run(self._prepared, {"x": numbers.flatten(1), "x_scale": scale}, {"out": self._out})
        return self._out


class Step:
    """`x` [batch, hidden] to `y` [batch, hidden]: norm, gate and up, SwiGLU, down, sum.

    A call synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        batch, self._norm = axes["batch"], state["norm"]
        self._gate_up = _Linear(solution, state["w_gate_up"], state["s_gate_up"], batch, self._norm)
        self._down = _Linear(solution, state["w_down"], state["s_down"], batch, self._norm)

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        normed = F.rms_norm(x, x.shape[1:], self._norm, NORM_EPS)
        gate, up = self._gate_up(normed).chunk(2, -1)
        torch.add(x, self._down(F.silu(gate).mul_(up)), out=out["y"])
