"""How a side launches its calls: eagerly, or as one captured CUDA graph."""

from __future__ import annotations

from collections.abc import Callable

import torch

Tensors = dict[str, torch.Tensor]
Launch = Callable[[Tensors, Tensors], None]

_WARMUP_CALLS = 3


def graph(step: Launch, inputs: Tensors) -> Launch:
    """Capture `step` once with static buffers; the copies in and out are part of each call.

    `inputs` is one call's inputs, for the shapes and for the warm-up that capture needs.
    """
    static_inputs = {name: tensor.clone() for name, tensor in inputs.items()}
    return _Captured(step, static_inputs)


class _Captured:
    def __init__(self, step: Launch, static_inputs: Tensors) -> None:
        self._step = step
        self._inputs = static_inputs
        self._outputs: Tensors = {}
        self._graph: torch.cuda.CUDAGraph | None = None

    def _capture(self, outputs: Tensors) -> torch.cuda.CUDAGraph:
        self._outputs = {name: torch.empty_like(tensor) for name, tensor in outputs.items()}
        side_stream = torch.cuda.Stream()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            for _ in range(_WARMUP_CALLS):
                self._step(self._inputs, self._outputs)
        torch.cuda.current_stream().wait_stream(side_stream)
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            self._step(self._inputs, self._outputs)
        return captured

    def __call__(self, inputs: Tensors, outputs: Tensors) -> None:
        if self._graph is None:
            self._graph = self._capture(outputs)
        for name, tensor in inputs.items():
            self._inputs[name].copy_(tensor)
        self._graph.replay()
        for name, tensor in self._outputs.items():
            outputs[name].copy_(tensor)
