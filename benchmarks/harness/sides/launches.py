"""Launch calls eagerly or as a captured CUDA graph."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch

Tensors = dict[str, torch.Tensor]
Launch = Callable[[Tensors, Tensors], None]
_WARMUP_CALLS = 3


def graph(step: Launch, inputs: Tensors) -> Launch:
    """Capture `step` once with static buffers; each call includes the copies in and out.

    `inputs` are one call's, for the shapes and for the warm-up before the capture.
    """
    static_inputs = {name: tensor.clone() for name, tensor in inputs.items()}
    return _Captured(step, static_inputs)


def graphs_of_rounds(
    step: Launch, calls: Sequence[tuple[Tensors, Tensors]], rounds: Iterable[int]
) -> dict[int, Callable[[], None]]:
    """Capture, for each number of calls in `rounds`, the first so many calls as one graph.

    For the operator alone: on each call's own buffers and between other kernels, as in the step's
    graph. One graph per call would be wrong: launching another graph than the last costs an H200 up
    to 110 us on the device, and more with more graphs.
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
    """Make the first calls on another stream, as a capture requires."""
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for inputs, outputs in calls:
            step(inputs, outputs)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def _captured(work: Callable[[], None], stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    """Capture the launches of `work`, which is warm, on exactly its tensors."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    return graph


class _Captured:
    def __init__(self, step: Launch, static_inputs: Tensors) -> None:
        self._step = step
        self.static_inputs = static_inputs
        self._outputs: Tensors = {}
        self._graph: torch.cuda.CUDAGraph | None = None

    def _capture(self, outputs: Tensors) -> torch.cuda.CUDAGraph:
        self._outputs = {name: torch.empty_like(tensor) for name, tensor in outputs.items()}
        side_stream = torch.cuda.Stream()
        _warm_up(self._step, [(self.static_inputs, self._outputs)] * _WARMUP_CALLS, side_stream)
        return _captured(partial(self._step, self.static_inputs, self._outputs), side_stream)

    def __call__(self, inputs: Tensors, outputs: Tensors) -> None:
        if self._graph is None:
            self._graph = self._capture(outputs)
        for name, tensor in inputs.items():
            # Chained inputs are already there.
            if tensor is not self.static_inputs[name]:
                self.static_inputs[name].copy_(tensor)
        self._graph.replay()
        for name, tensor in self._outputs.items():
            outputs[name].copy_(tensor)
