"""How a side launches its calls: eagerly, or as a captured CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

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


def graphs_of_rounds(
    step: Launch, calls: Sequence[tuple[Tensors, Tensors]], rounds: Iterable[int]
) -> dict[int, Callable[[], None]]:
    """Capture `step` for the first so many calls, one after the other, as one graph for each.

    The operator alone is launched so: on each call's own buffers, since the step, whose
    intermediate results its inputs are, does not copy them either; and as the step's graph holds
    it, between other kernels. A graph of its own for each call is no such thing: launching another
    graph than the last costs an H200 up to 110 us on the device, the more graphs the more.
    """
    side_stream = torch.cuda.Stream()
    _warm_up(step, calls, side_stream)

    def captured(count: int) -> Callable[[], None]:
        def work() -> None:
            for inputs, outputs in calls[:count]:
                step(inputs, outputs)

        return _captured(work, side_stream).replay

    return {count: captured(count) for count in rounds}


def _warm_up(
    step: Launch, calls: Iterable[tuple[Tensors, Tensors]], stream: torch.cuda.Stream
) -> None:
    """Capture wants whatever is made at the first call to be there, made on another stream."""
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for inputs, outputs in calls:
            step(inputs, outputs)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def _captured(work: Callable[[], None], stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    """A graph of what `work` launches, whose steps are warm, on exactly the tensors it is given."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    return graph


class _Captured:
    def __init__(self, step: Launch, static_inputs: Tensors) -> None:
        self._step = step
        self._inputs = static_inputs
        self._outputs: Tensors = {}
        self._graph: torch.cuda.CUDAGraph | None = None

    def _capture(self, outputs: Tensors) -> torch.cuda.CUDAGraph:
        self._outputs = {name: torch.empty_like(tensor) for name, tensor in outputs.items()}
        side_stream = torch.cuda.Stream()
        _warm_up(self._step, [(self._inputs, self._outputs)] * _WARMUP_CALLS, side_stream)
        return _captured(partial(self._step, self._inputs, self._outputs), side_stream)

    def __call__(self, inputs: Tensors, outputs: Tensors) -> None:
        if self._graph is None:
            self._graph = self._capture(outputs)
        for name, tensor in inputs.items():
            self._inputs[name].copy_(tensor)
        self._graph.replay()
        for name, tensor in self._outputs.items():
            outputs[name].copy_(tensor)
