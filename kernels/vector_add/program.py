"""Gradient accumulation over micro-batches, with the operator in its slot."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from kernels.solutions import Solution


class Step:
    """The `gradient` [length] of the newest micro-batch and those of the earlier ones, added up.

    This is what a training step does to every weight's flat gradient between two updates. A call
    synchronises with nothing and may be captured in a CUDA graph.
    """

    def __init__(
        self,
        *,
        solution: Solution,
        state: Mapping[str, Tensor],
        axes: Mapping[str, int],
    ) -> None:
        self._run = solution.run
        self._prepared = solution.prepare({}, axes)
        self._earlier = state["earlier"].unbind(0)
        # A sum is read from one and written to the other.
        self._sums = [state["earlier"].new_empty(axes["length"]) for _ in range(2)]

    def __call__(self, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        """One step, queued on the current stream; writes every element of out["total"]."""
        total = inputs["gradient"]
        for micro_batch, gradient in enumerate(self._earlier):
            last = micro_batch == len(self._earlier) - 1
            result = out["total"] if last else self._sums[micro_batch % 2]
            self._run(self._prepared, {"x": total, "y": gradient}, {"out": result})
            total = result
