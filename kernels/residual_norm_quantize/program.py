"""A Llama layer in FP8 from one attention's result to the next one's projection.

Gate, up and joint projection take FP8 activations with a scale a token; the down projection, whose
inputs have outliers, keeps 16 bits. The operator is in front of each FP8 product.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution


class _Product:
    """The operator's slot and the FP8 product after it."""

    def __init__(
        self,
        solution: Solution,
        norm: Tensor,
        weight: Tensor,
        scale: Tensor,
        axes: Mapping[str, int],
    ) -> None:
        shape = axes["tokens"], axes["hidden"]
        self._prepared = solution.prepare({"weight": norm}, axes)
        self._run = solution.run
        self._weight = weight.T
        self._scale = scale.flatten()[None]
        self._q = weight.new_empty(shape)
        self._row_scale = scale.new_empty(shape[0])

    def __call__(self, x: Tensor, residual: Tensor, kept: Tensor, out: Tensor) -> None:
        """Writes the sum to `kept` and the product [tokens, features] to `out`."""
        outputs = {"q": self._q, "scale": self._row_scale, "sum": kept}
        self._run(self._prepared, {"x": x, "residual": residual}, outputs)
        torch._scaled_mm(
            self._q,
            self._weight,
            scale_a=self._row_scale[:, None],
            scale_b=self._scale,
            out_dtype=out.dtype,
            out=out,
        )


class Step:
    """`x` and `residual` [tokens, hidden] to `y` and the sum `stream`.

    A call synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        w_gate_up, w_qkv = state["w_gate_up"].flatten(0, 1), state["w_qkv"].flatten(0, 1)
        self._gate_up = _Product(solution, state["norm_mlp"], w_gate_up, state["s_gate_up"], axes)
        self._qkv = _Product(solution, state["norm_attention"], w_qkv, state["s_qkv"], axes)
        self._down = state["w_down"].T
        rows = state["w_down"].new_empty(axes["tokens"], 2 * axes["hidden"] + len(w_gate_up))
        sizes = axes["hidden"], axes["hidden"], len(w_gate_up)
        self._kept, self._mlp, self._wide = (part.contiguous() for part in rows.split(sizes, 1))

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of every output."""
        self._gate_up(inputs["x"], inputs["residual"], self._kept, self._wide)
        gate, up = self._wide.chunk(2, -1)
        torch.mm(F.silu(gate).mul_(up), self._down, out=self._mlp)
        self._qkv(self._mlp, self._kept, out["stream"], out["y"].flatten(1))
