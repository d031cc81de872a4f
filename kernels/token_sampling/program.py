"""The end of a Llama-shaped model's step: the last product, and the next token by the operator.

The model's last norm is left out, the same for every solution.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.solutions import Solution

REQUEST = ("temperature", "top_k", "top_p", "chance")


class Step:
    """`x` [batch, hidden] to `token` [batch] and `probability` [batch, most_k].

    A call synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run, self._prepared = solution.run, solution.prepare({}, axes)
        self._w_vocab = state["w_vocab"].T

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of every output."""
        request = {name: inputs[name] for name in REQUEST}
        self._run(self._prepared, {"logits": self._logits(inputs["x"]), **request}, out)

    def _logits(self, x: Tensor) -> Tensor:
        """In float32: rounded to 16 bits, many logits would be equal."""
        if x.is_cuda and x.dtype != torch.float32:
            return torch.mm(x, self._w_vocab, out_dtype=torch.float32)
        return torch.mm(x.float(), self._w_vocab.float())
