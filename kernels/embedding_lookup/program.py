"""The head of a Llama-shaped step: lookup, norm, the first projection."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

NORM_EPS = 1e-5


class Step:
    """`ids` [batch, seq_len] to `qkv` [batch, seq_len, qkv_heads, head_dim] of the first layer.

    A call synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._prepared = solution.prepare({"table": state["table"]}, axes)
        self._norm = state["norm"]
        self._w_qkv = state["w_qkv"].flatten(0, 1)
        self._embedded = state["table"].new_empty(
            axes["batch"], axes["seq_len"], state["table"].shape[1]
        )

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["qkv"]."""
        self._run(self._prepared, {"ids": inputs["ids"]}, {"out": self._embedded})
        normed = F.rms_norm(self._embedded, self._norm.shape, self._norm, NORM_EPS)
        torch.mm(normed.flatten(0, 1), self._w_qkv.T, out=out["qkv"].flatten(0, 1).flatten(1))
