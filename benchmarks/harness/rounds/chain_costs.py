"""Time what chaining adds to a call, in the referee's own process and before any side starts.

Chaining is no part of the step, and both sides do it inside the clock: where the step is as short
as the signing, 3x would be seen as 2.07x. So its time is taken off both sides, like a round's fixed
cost. Too much would raise a ratio above 1. Therefore the quickest chained loop counts against the
usual unchained one, as one graph without launches, after the same copies that a side's launch
makes: results are as warm, and inputs as cold, as a side finds them. On a processor, whose speed
changes from minute to minute, nothing is taken off: on a busy one it was more than a round took.
"""

import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from benchmarks.harness.devices import rank_layouts
from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.chaining import Chain
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.rounds import chains
from benchmarks.harness.sides import levels
from benchmarks.verdict.statistics import rules

_TIMES = 9
_MOST_CALLS = 64
_CACHES_TO_OUTGROW = 4
_SHARE_OF_FREE_MEMORY = 0.25


def measured(document: Mapping[str, Any], device: Device) -> dict[str, float]:
    """By workload, us that chaining adds to a call; empty where nothing is taken off."""
    chained = document["definition"].get("chain") and rules.take_off_chaining(document)
    if not chained or device.kind != "cuda":
        return {}
    return {
        workload["name"]: added_us(document, workload["axes"], device)
        for workload in document["workloads"]
    }


def added_us(document: Mapping[str, Any], axes: Mapping[str, int], device: Device) -> float:
    """What chaining adds to a call at one point of the axes, in us."""
    calls = _calls(document, axes, device)
    layouts = [
        rank_layouts.plan_share(
            levels.specs(document["definition"], "program", part), axes, dtype, calls
        )
        for dtype in [document["dtype"]]
        for part in ("inputs", "outputs")
    ]
    chain = chains.linked(document["definition"]["chain"], layouts[0], {})
    loop = _Loop(layouts, chain, device, graphed=document["program"]["launch"] == "graph")
    if device.kind == "cuda":
        works = {chained: _captured(loop, chained) for chained in (True, False)}
    else:
        works = {True: lambda: loop.run(chained=True), False: lambda: loop.run(chained=False)}
    took_us: dict[bool, list[float]] = {True: [], False: []}
    for _, chained in itertools.product(range(_TIMES + 1), works):
        took_us[chained].append(_took_us(works[chained], device))
    # The first of each is warm-up.
    added_us = min(took_us[True][1:]) - statistics.median(took_us[False][1:])
    return max(0.0, added_us) / (calls - 1)


def _calls(document: Mapping[str, Any], axes: Mapping[str, int], device: Device) -> int:
    """As many as outgrow the cache, like a round's; at least two."""
    call_bytes = sum(
        rank_layouts.plan_share(
            levels.specs(document["definition"], "program", part), axes, document["dtype"], 1
        ).nbytes
        for part in ("inputs", "outputs")
    )
    room = int(device.free_bytes() * _SHARE_OF_FREE_MEMORY / call_bytes)
    outgrow = math.ceil(_CACHES_TO_OUTGROW * (device.cache_bytes() or 0) / call_bytes)
    most = min(_MOST_CALLS, document["protocol"]["max_calls"], room)
    return max(2, min(most, max(outgrow, _MOST_CALLS // 4)))


def _took_us(work: Callable[[], object], device: Device) -> float:
    device.synchronize()
    started_ns = time.perf_counter_ns()
    work()
    device.synchronize()
    return (time.perf_counter_ns() - started_ns) / 1e3


def _captured(loop: "_Loop", chained: bool) -> Callable[[], object]:
    loop.run(chained=chained)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loop.run(chained=chained)
    return graph.replay


class _Loop:
    """The launches of a round around a step that does nothing."""

    def __init__(
        self, layouts: list[Layout], chain: Chain, device: Device, *, graphed: bool
    ) -> None:
        memories = [
            torch.zeros(layout.nbytes, dtype=torch.uint8, device=device.torch_device)
            for layout in layouts
        ]
        both = zip(layouts, memories, strict=True)
        views = [[each.tensors(memory, k) for k in range(each.calls)] for each, memory in both]
        self._calls = list(zip(*views, strict=True))
        self._chain, self._graphed = chain, graphed
        inputs, outputs = self._calls[0]
        self._inputs = {name: tensor.clone() for name, tensor in inputs.items()}
        self._results = {name: tensor.clone() for name, tensor in outputs.items()}

    def run(self, *, chained: bool) -> None:
        """Sign or copy each call's inputs as a side's launch does, and write its outputs."""
        previous: Mapping[str, torch.Tensor] | None = None
        for inputs, outputs in self._calls:
            given = inputs
            if chained and previous is not None:
                given = self._chain.mixed(inputs, previous, self._inputs)
            if self._graphed:
                for name, tensor in given.items():
                    if tensor is not self._inputs[name]:
                        self._inputs[name].copy_(tensor)
            for name, tensor in self._results.items():
                outputs[name].copy_(tensor)
            previous = outputs
