"""The end-to-end step with the operator in its slot."""

import torch


class Step:
    """The operator, then the product of its dequantised rows."""

    def __init__(self, *, solution, state, axes):
        self._run = solution.run
        self._prepared = solution.prepare({"weight": state["weight"]}, axes)
        self._projection = state["projection"]
        tokens, hidden = axes["tokens"], axes["hidden"]
        self._q = torch.empty(tokens, hidden, dtype=torch.int8, device=self._projection.device)
        self._scale = torch.empty(tokens, device=self._projection.device)

    def __call__(self, inputs, out):
        """Write every element of every output."""
        given = {"x": inputs["x"], "residual": inputs["residual"]}
        slot = {"q": self._q, "scale": self._scale, "sum": out["stream"]}
        self._run(self._prepared, given, slot)
        torch.mm(self._q.float() * self._scale[:, None], self._projection, out=out["y"])
