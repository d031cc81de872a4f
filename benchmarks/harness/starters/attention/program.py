"""The end-to-end step with the operator in its slot."""

import torch


class Step:
    """Attention, then its output projection."""

    def __init__(self, *, solution, state, axes):
        self._run = solution.run
        self._prepared = solution.prepare({}, axes)
        self._projection = state["projection"]
        sizes = axes["heads"], axes["tokens"], axes["head_dim"]
        self._attended = state["projection"].new_empty(sizes)

    def __call__(self, inputs, out):
        """Write every element of every output."""
        self._run(self._prepared, inputs, {"o": self._attended})
        torch.matmul(self._attended, self._projection, out=out["o"])
