"""The end-to-end step with the operator in its slot."""

import torch


class Step:
    """A projection of x, then the operator."""

    def __init__(self, *, solution, state, axes):
        self._run = solution.run
        self._prepared = solution.prepare({"weight": state["weight"]}, axes)
        self._projection = state["projection"]
        self._projected = state["weight"].new_empty(axes["tokens"], axes["hidden"])

    def __call__(self, inputs, out):
        """Write every element of every output."""
        torch.mm(inputs["x"], self._projection, out=self._projected)
        given = {"x": self._projected, "residual": inputs["residual"]}
        self._run(self._prepared, given, out)
