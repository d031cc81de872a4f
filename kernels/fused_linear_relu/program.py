"""The MLPs of an OPT-shaped model, with the operator as their first half."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

NORM_EPS = 1e-5


class Step:
    """`x` [batch, hidden] through norm, linear layer with ReLU and projection back, to `y`.

    Built once for a state, then called any number of times. A call synchronises with nothing
    and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._prepared = [
            solution.prepare({"w": state["w_up"][layer], "bias": state["bias_up"][layer]}, axes)
            for layer in range(axes["layers"])
        ]
        self._state = state
        self._up = state["w_up"].new_empty(axes["batch"], axes["ffn"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        for layer, prepared in enumerate(self._prepared):
            own = {name: tensor[layer] for name, tensor in self._state.items()}
            normed = F.layer_norm(x, (x.shape[1],), own["norm"], own["norm_bias"], NORM_EPS)
            self._run(prepared, {"x": normed}, {"y": self._up})
            x = x + torch.addmm(own["bias_down"], self._up, own["w_down"].T)
        out["y"].copy_(x)
