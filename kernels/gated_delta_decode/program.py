"""One decoding step of a Qwen3-Next layer's linear attention, with the operator in its slot.

Left out, the same for every solution: the short convolution over queries, keys and values, and the
layer's experts.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.solutions import Solution

NORM_EPS = 1e-6


class Step:
    """`x` [batch, hidden] and the memory to `y` and the next memory.

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
        gating = {name: state[name] for name in ("a_log", "dt_bias")}
        self._prepared = solution.prepare(gating, axes)
        self._norm, self._norm_out = state["norm"], state["norm_out"]
        self._w_in, self._w_out = state["w_in"].T, state["w_out"].flatten(1).T
        heads, self._key_heads = axes["heads"], axes["key_heads"]
        keys, values = axes["key_heads"] * axes["key_dim"], heads * axes["value_dim"]
        self._heads, self._sizes = heads, [keys, keys, values, values, heads, heads]
        self._out = self._w_in.new_empty(axes["batch"], heads, axes["value_dim"])

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of every output."""
        x = inputs["x"]
        normed = F.rms_norm(x, x.shape[1:], self._norm, NORM_EPS)
        q, k, v, z, a, b = (normed @ self._w_in).split(self._sizes, 1)
        token = {
            "q": q.unflatten(1, (self._key_heads, -1)),
            "k": k.unflatten(1, (self._key_heads, -1)),
            "v": v.unflatten(1, (self._heads, -1)),
            "a": a,
            "b": b,
            "memory": inputs["memory"],
        }
        self._run(self._prepared, token, {"out": self._out, "memory_next": out["memory_next"]})
        gated = F.rms_norm(self._out, self._norm_out.shape, self._norm_out, NORM_EPS)
        gated = gated * F.silu(z.unflatten(1, (self._heads, -1)))
        torch.addmm(x, gated.flatten(1), self._w_out, out=out["y"])
