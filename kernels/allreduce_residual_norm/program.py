"""MLPs of tensor-parallel decoding, each with the all-reduce and norm before it.

Gate and up projection are split by their outputs and the down projection by its inputs, so a rank
has a partial sum of every token after each MLP, as it has after each attention.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution


class Step:
    """One rank's `x` [tokens, hidden], a partial sum, and `residual` to `y` and `stream`.

    A call waits for nothing but other ranks' parts and may be captured in a CUDA graph.
    """

    def __init__(
        self, *, solution: Solution, state: Mapping[str, Tensor], axes: Mapping[str, int]
    ) -> None:
        self._run = solution.run
        self._prepared = [solution.prepare({"weight": norm}, axes) for norm in state["norm"]]
        self._gate_up = [weights.flatten(0, 1).T for weights in state["w_gate_up"]]
        self._down = [weights.T for weights in state["w_down"]]
        shape = axes["tokens"], axes["hidden"]
        self._normed = state["w_down"].new_empty(shape)
        self._partial = [state["w_down"].new_empty(shape) for _ in range(2)]
        self._kept = [state["w_down"].new_empty(shape) for _ in range(2)]

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of every output."""
        x, residual = inputs["x"], inputs["residual"]
        last = len(self._prepared) - 1
        for layer, prepared in enumerate(self._prepared):
            kept = out["stream"] if layer == last else self._kept[layer % 2]
            outputs = {"normed": self._normed, "sum": kept}
            self._run(prepared, {"x": x, "residual": residual}, outputs)
            gate, up = (self._normed @ self._gate_up[layer]).chunk(2, -1)
            x = out["y"] if layer == last else self._partial[layer % 2]
            torch.mm(F.silu(gate).mul_(up), self._down[layer], out=x)
            residual = kept
