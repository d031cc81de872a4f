"""One operator or Program on this machine: random tensors, a check, a time.

For tuning, not for verdicts: one process, one clock, nothing hidden from what is measured. A
verdict comes from the referee in benchmarks.harness.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Definition, Preset, TensorSpec, Tolerance, Workload
from kernels.solutions import Solution

# Calls timed together, each over state and inputs of its own, so that caches stay cold.
SETS = 4
REPEATS = 25


@dataclass(frozen=True)
class Timed:
    """One line of the table; `call_us` is None when it did not run or was wrong."""

    name: str
    call_us: float | None
    note: str


@dataclass(frozen=True)
class Bench:
    """One workload's tensors: SETS pairs of state and inputs and the right answer to the first."""

    operator: str
    axes: Mapping[str, int]
    dtype: torch.dtype
    device: str
    tolerance: Tolerance
    outputs: tuple[TensorSpec, ...]
    state: list[dict[str, Tensor]]
    inputs: list[dict[str, Tensor]]
    expected: dict[str, Tensor]

    def poisoned(self) -> dict[str, Tensor]:
        """Output buffers full of NaN: what is not written shows."""
        return {
            spec.name: _poison(spec, self.axes, self.dtype, self.device) for spec in self.outputs
        }


def draw(
    specs: tuple[TensorSpec, ...], axes: Mapping[str, int], dtype: torch.dtype, device: str
) -> dict[str, Tensor]:
    """Random tensors as the specs ask for."""
    drawn = {}
    for spec in specs:
        kind = getattr(torch, spec.dtype) if spec.dtype else dtype
        wide = kind if kind.is_floating_point and kind.itemsize > 1 else torch.float32
        tensor = torch.empty(spec.sizes(axes), dtype=wide, device=device)
        if spec.distribution == "normal":
            tensor.normal_()
        elif spec.distribution == "uniform":
            tensor.uniform_()
        else:
            tensor.fill_(1.0)
        drawn[spec.name] = _as(tensor.mul_(spec.amplitude(axes)), kind, spec)
    return drawn


def _as(tensor: Tensor, kind: torch.dtype, spec: TensorSpec) -> Tensor:
    """The contents in their own dtype; whole numbers as the harness draws them."""
    if kind == torch.bool:
        return torch.rand_like(tensor) < 0.5
    if kind.is_floating_point:
        return tensor.to(kind)
    limits = torch.iinfo(kind)
    whole = tensor.round() if spec.distribution == "normal" else tensor.floor()
    return whole.clamp(limits.min, limits.max).to(kind)


def _poison(spec: TensorSpec, axes: Mapping[str, int], dtype: torch.dtype, device: str) -> Tensor:
    """An output nobody has written: NaN; for whole numbers a value far from what they hold."""
    kind = getattr(torch, spec.dtype) if spec.dtype else dtype
    value = float("nan") if kind.is_floating_point else 1 if kind == torch.bool else 113
    return torch.full(spec.sizes(axes), value, dtype=kind, device=device)


def operator_bench(operator: str, preset: Preset, load: Workload) -> Bench:
    """The operator alone at one workload, every call with a state of its own."""
    what, dtype, device = _placed(operator, preset)
    state = [draw(what.state, load.axes, dtype, device) for _ in range(SETS)]
    inputs = [draw(what.inputs, load.axes, dtype, device) for _ in range(SETS)]
    higher = torch.float64 if device == "cpu" else torch.float32
    return Bench(
        operator=operator,
        axes=load.axes,
        dtype=dtype,
        device=device,
        tolerance=what.tolerances[preset.dtype],
        outputs=what.outputs,
        state=state,
        inputs=inputs,
        expected=solutions.reference(operator).reference(state[0], inputs[0], load.axes, higher),
    )


def step_bench(operator: str, preset: Preset, load: Workload) -> Bench:
    """The whole Program at one workload; its state is shared by all calls."""
    what, dtype, device = _placed(operator, preset)
    state = draw(what.program_state, load.axes, dtype, device)
    inputs = [draw(what.program_inputs, load.axes, dtype, device) for _ in range(SETS)]
    step = solutions.reference(operator).reference_step
    return Bench(
        operator=operator,
        axes=load.axes,
        dtype=dtype,
        device=device,
        tolerance=what.tolerances[preset.dtype],
        outputs=what.program_outputs,
        state=[state] * SETS,
        inputs=inputs,
        expected=step(state=state, inputs=inputs[0], axes=load.axes),
    )


def _placed(operator: str, preset: Preset) -> tuple[Definition, torch.dtype, str]:
    return catalogue.definition(operator), getattr(torch, preset.dtype), preset.device


def compare(out: Tensor, expected: Tensor, tolerance: Tolerance) -> tuple[bool, str]:
    """Whether an output is within tolerance, and how far off it is in words."""
    error = (out.to(expected.dtype) - expected).abs()
    matched = error <= tolerance.max_abs + tolerance.max_rel * expected.abs()
    share, worst = matched.float().mean().item(), error.max().item()
    right = share >= tolerance.matched_share and worst <= tolerance.hard_cap_abs
    rms = error.square().mean().sqrt().item() / expected.square().mean().sqrt().item()
    return right, f"max error {worst:.2e}, relative {rms:.1e}, matched {share:.5f}"


def time_solution(bench: Bench, solution: Solution) -> Timed:
    """The operator by one Solution: checked on poisoned outputs, then timed."""
    prepared = [solution.prepare(state, bench.axes) for state in bench.state]
    outs = [bench.poisoned() for _ in prepared]

    def call(index: int) -> None:
        solution.run(prepared[index], bench.inputs[index], outs[index])

    return _checked_and_timed(bench, solution.name, call, outs)


def time_step(bench: Bench, solution: Solution) -> Timed:
    """The Program with one Solution in its slot."""
    build = solutions.program(bench.operator).Step
    step = build(solution=solution, state=bench.state[0], axes=bench.axes)
    outs = [bench.poisoned() for _ in bench.inputs]

    def call(index: int) -> None:
        step(bench.inputs[index], outs[index])

    return _checked_and_timed(bench, solution.name, call, outs)


def _checked_and_timed(
    bench: Bench, name: str, call: Callable[[int], None], outs: list[dict[str, Tensor]]
) -> Timed:
    for index in range(SETS):
        call(index)
    checks = [compare(outs[0][key], bench.expected[key], bench.tolerance) for key in bench.expected]
    note = "; ".join(words for _, words in checks)
    if not all(right for right, _ in checks):
        return Timed(name, None, f"WRONG: {note}")
    return Timed(name, _median_us(bench.device, call), note)


def _median_us(device: str, call: Callable[[int], None]) -> float:
    """Median microseconds of one call: CUDA graph replays by events, or the wall clock."""

    def all_sets() -> None:
        for index in range(SETS):
            call(index)

    if device == "cpu":
        return statistics.median(_wall_us(all_sets) for _ in range(5)) / SETS
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        all_sets()
    for _ in range(3):
        graph.replay()
    return statistics.median(_event_us(graph.replay) for _ in range(REPEATS)) / SETS


def _wall_us(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e6


def _event_us(work: Callable[[], None]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3
