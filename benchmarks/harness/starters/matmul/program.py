"""The end-to-end step with the operator in its slot."""


class Step:
    """A stack of layers, each a call of the operator."""

    def __init__(self, *, solution, state, axes):
        self._run = solution.run
        self._prepared = [
            solution.prepare({"weight": weight}, axes) for weight in state["weights"].unbind(0)
        ]
        sizes = axes["tokens"], axes["hidden"]
        self._between = [state["weights"].new_empty(sizes) for _ in self._prepared[1:]]

    def __call__(self, inputs, out):
        """Write every element of every output."""
        x = inputs["x"]
        for prepared, y in zip(self._prepared, [*self._between, out["y"]], strict=True):
            self._run(prepared, {"x": x}, {"y": y})
            x = y
