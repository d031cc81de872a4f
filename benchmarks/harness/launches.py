"""How a side launches its calls: eagerly, or as one captured CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensors = dict[str, torch.Tensor]
Launch = Callable[[Tensors, Tensors], None]
# torch keeps the type of a pool to itself.
Pool = Any

_WARMUP_CALLS = 3


def graph(step: Launch, inputs: Tensors) -> Launch:
    """Capture `step` once with static buffers; the copies in and out are part of each call.

    `inputs` is one call's inputs, for the shapes and for the warm-up that capture needs.
    """
    static_inputs = {name: tensor.clone() for name, tensor in inputs.items()}
    return _Captured(step, static_inputs)


def graph_of_each(step: Launch, calls: Sequence[tuple[Tensors, Tensors]]) -> Launch:
    """Capture `step` for each of the calls, on the call's own buffers: nothing is copied.

    The operator alone is launched so. Its inputs are the step's own intermediate results, and
    the step does not copy them either.
    """
    side_stream, pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
    for inputs, outputs in calls:
        _warm_up(step, inputs, outputs, side_stream, times=1)
    graphs = {
        _place(outputs): _captured(step, inputs, outputs, side_stream, pool)
        for inputs, outputs in calls
    }

    def launch(inputs: Tensors, outputs: Tensors) -> None:
        graphs[_place(outputs)].replay()

    return launch


def _place(outputs: Tensors) -> int:
    return next(iter(outputs.values())).data_ptr()


def _warm_up(
    step: Launch, inputs: Tensors, outputs: Tensors, stream: torch.cuda.Stream, *, times: int
) -> None:
    """Capture wants whatever is made at the first call to be there, made on another stream."""
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(times):
            step(inputs, outputs)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def _captured(
    step: Launch, inputs: Tensors, outputs: Tensors, stream: torch.cuda.Stream, pool: Pool
) -> torch.cuda.CUDAGraph:
    """A graph of one call on exactly these tensors, of a step that is warm.

    Graphs that never run at once share `pool`: calls of microseconds are captured by the thousand.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=stream):
        step(inputs, outputs)
    return graph


class _Captured:
    def __init__(self, step: Launch, static_inputs: Tensors) -> None:
        self._step = step
        self._inputs = static_inputs
        self._outputs: Tensors = {}
        self._graph: torch.cuda.CUDAGraph | None = None

    def _capture(self, outputs: Tensors) -> torch.cuda.CUDAGraph:
        self._outputs = {name: torch.empty_like(tensor) for name, tensor in outputs.items()}
        side_stream, pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
        _warm_up(self._step, self._inputs, self._outputs, side_stream, times=_WARMUP_CALLS)
        return _captured(self._step, self._inputs, self._outputs, side_stream, pool)

    def __call__(self, inputs: Tensors, outputs: Tensors) -> None:
        if self._graph is None:
            self._graph = self._capture(outputs)
        for name, tensor in inputs.items():
            self._inputs[name].copy_(tensor)
        self._graph.replay()
        for name, tensor in self._outputs.items():
            outputs[name].copy_(tensor)
