"""The MLP of a model that squares its ReLU, with the operator as its up projection."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

NORM_EPS = 1e-5


class Step:
    """`x` [batch, m, k] through norm, up projection, squared ReLU and down projection to `y`.

    Every entry of the batch has weights of its own, as a layer's experts have. A call
    synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._prepared = solution.prepare({"b": state["w_up"]}, axes)
        self._norm = state["norm"].unsqueeze(1)
        self._w_down = state["w_down"]
        self._up = state["w_up"].new_empty(axes["batch"], axes["m"], axes["n"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["y"]."""
        x = inputs["x"]
        normed = F.rms_norm(x, (x.shape[-1],), None, NORM_EPS) * self._norm
        self._run(self._prepared, {"a": normed}, {"c": self._up})
        torch.baddbmm(x, torch.relu_(self._up).square_(), self._w_down, out=out["y"])
