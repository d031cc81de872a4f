"""Measure the cost of ways to launch calls: a graph each, one graph again, one graph of all.

    python -m benchmarks.precision.synthetic.graphs
    python -m benchmarks.precision.synthetic.graphs --beside 2

This is why the operator alone is captured as one graph of all its calls (launches.py).
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from benchmarks.precision.conditions import AXES, DTYPES, SHORT_AXES

_TIMES = 7
# Products per call, and calls per round of 30 to 80 ms.
_LONG, _SHORT = AXES["cuda"], SHORT_AXES["cuda"]
_ROUNDS = ((1, 3000, _SHORT), (3, 200, _LONG), (29, 46, _LONG), (40, 60, _LONG))
_IDLE = (
    "import sys, torch; torch.zeros(1, device='cuda').add_(1); torch.cuda.synchronize(); "
    "print('up', flush=True); sys.stdin.read()"
)


class Calls:
    """`count` calls of `units` products each, on separate inputs and outputs."""

    def __init__(self, units: int, count: int, axes: dict[str, int]) -> None:
        dtype = getattr(torch, DTYPES["cuda"])
        rows, columns = axes["rows"], axes["columns"]
        self._units, self._count = units, count
        self._w = torch.randn(axes["layers"], columns, columns, device="cuda", dtype=dtype)
        self._x = torch.randn(count, rows, columns, device="cuda", dtype=dtype)
        self._y = torch.empty_like(self._x)
        self._stream, self._pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()

    def call(self, index: int) -> None:
        """One of the calls."""
        for unit in range(self._units):
            torch.mm(self._x[index], self._w[unit % len(self._w)], out=self._y[index])

    def all(self) -> None:
        """All calls in turn."""
        for index in range(self._count):
            self.call(index)

    def captured(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """`work` as a graph."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            work()
        return graph

    def timed_us(self, launch: Callable[[], None]) -> float:
        """The median time of a call, by the host's clock around all of them."""
        took_s = []
        for _ in range(_TIMES):
            torch.cuda.synchronize()
            started = time.perf_counter()
            launch()
            torch.cuda.synchronize()
            took_s.append(time.perf_counter() - started)
        return 1e6 * statistics.median(took_s) / self._count

    def by_way_us(self) -> list[float]:
        """Times of a graph each, one graph again, and one graph of all."""
        self.all()
        each = [self.captured(partial(self.call, index)) for index in range(self._count)]
        ways = (
            partial(_replay, each),
            partial(_replay, each[:1] * self._count),
            self.captured(self.all).replay,
            self.all,
        )
        return [self.timed_us(way) for way in ways]


def _replay(graphs: Sequence[torch.cuda.CUDAGraph]) -> None:
    for graph in graphs:
        graph.replay()


@contextlib.contextmanager
def idle_contexts(count: int) -> Iterator[None]:
    """Other processes with an idle context on the GPU."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _IDLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
        yield


def main() -> None:
    """Print one row per length of a call."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision.synthetic.graphs")
    parser.add_argument("--beside", type=int, default=0, help="processes with an idle context")
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("graphs need a CUDA device, and torch sees none here")
    print("| us a call: a graph each | the same graph | one graph of all | one by one |")
    print("|---|---|---|---|")
    with torch.no_grad(), idle_contexts(asked.beside):
        for units, count, axes in _ROUNDS:
            cells = (f"{us:.1f}" for us in Calls(units, count, axes).by_way_us())
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
