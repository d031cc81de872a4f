"""The Program of this operator is the operator itself."""


class Step:
    """One call of the solution."""

    def __init__(self, *, solution, state, axes):
        self._run = solution.run
        self._prepared = solution.prepare(state, axes)

    def __call__(self, inputs, out):
        """Write every element of every output."""
        self._run(self._prepared, inputs, out)
