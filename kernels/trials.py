"""One operator or Program on this machine: random tensors, a check, a time.

For tuning, not for verdicts: one process, one clock, nothing hidden from what is measured. A
verdict comes from the referee in benchmarks.harness.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Definition, Preset, TensorSpec, Tolerance, Workload
from kernels.solutions import Solution

# Calls timed together, each over inputs and, for the operator alone, a state of its own.
SETS = 4
MOST_SETS = 64
# Together they outgrow the last cache so often, and stay within so much memory.
_CACHES = 4
_MOST_BYTES = 12 << 30
# Milliseconds of calls before those that count, and of those, on a GPU.
_WARMUP_MS, _MEASURED_MS = 40.0, 120.0
_LEAST_REPEATS, _MOST_REPEATS = 7, 60
# A call this long outlives every cache and launch: the naive product of 8192 cubed takes seconds,
# and would take a survey's whole time if it were repeated as often as others are.
_LONG_US, _LONG_REPEATS = 100_000.0, 3


@dataclass(frozen=True)
class Timed:
    """One line of the table; `call_us`, a median, is None when it did not run or was wrong.

    `quartiles_us` is where the middle half of the repeats lies.
    """

    name: str
    call_us: float | None
    note: str
    quartiles_us: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bench:
    """One workload's tensors: pairs of state and inputs and the right answer to the first."""

    operator: str
    launch: str
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
            spec.name: poison(spec, self.axes, self.dtype, self.device) for spec in self.outputs
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


def poison(spec: TensorSpec, axes: Mapping[str, int], dtype: torch.dtype, device: str) -> Tensor:
    """An output nobody has written: NaN; for whole numbers a value far from what they hold."""
    kind = getattr(torch, spec.dtype) if spec.dtype else dtype
    value = float("nan") if kind.is_floating_point else 1 if kind == torch.bool else 113
    return torch.full(spec.sizes(axes), value, dtype=kind, device=device)


def operator_bench(operator: str, preset: Preset, load: Workload) -> Bench:
    """The operator alone at one workload, every call with a state of its own."""
    what, dtype, device = _placed(operator, preset)
    sets = _sets(preset.device, catalogue.bytes_moved(operator, load.axes, preset.dtype))
    state = [draw(what.state, load.axes, dtype, device) for _ in range(sets)]
    inputs = [draw(what.inputs, load.axes, dtype, device) for _ in range(sets)]
    return Bench(
        operator=operator,
        launch=preset.launch,
        axes=load.axes,
        dtype=dtype,
        device=device,
        tolerance=what.tolerances[preset.dtype],
        outputs=what.outputs,
        state=state,
        inputs=inputs,
        expected=solutions.reference(operator).reference(
            state=state[0], inputs=inputs[0], axes=load.axes
        ),
    )


def step_bench(operator: str, preset: Preset, load: Workload) -> Bench:
    """The whole Program at one workload; its state is shared by all calls."""
    what, dtype, device = _placed(operator, preset)
    state = draw(what.program_state, load.axes, dtype, device)
    inputs = [draw(what.program_inputs, load.axes, dtype, device) for _ in range(SETS)]
    step = solutions.reference(operator).reference_step
    return Bench(
        operator=operator,
        launch=preset.launch,
        axes=load.axes,
        dtype=dtype,
        device=device,
        tolerance=what.tolerances[preset.dtype],
        outputs=what.program_outputs,
        state=[state] * SETS,
        inputs=inputs,
        expected=step(state=state, inputs=inputs[0], axes=load.axes),
    )


def _sets(device: str, call_bytes: int) -> int:
    """How many calls' tensors keep a GPU's last cache cold, within reason."""
    if device == "cpu":
        return SETS
    cache = int(torch.cuda.get_device_properties(0).L2_cache_size)
    wanted = -(-_CACHES * cache // max(call_bytes, 1))
    return max(2, min(wanted, MOST_SETS, _MOST_BYTES // max(call_bytes, 1)))


def _placed(operator: str, preset: Preset) -> tuple[Definition, torch.dtype, str]:
    return catalogue.definition(operator), getattr(torch, preset.dtype), preset.device


def compare(out: Tensor, expected: Tensor, tolerance: Tolerance) -> tuple[bool, str]:
    """Whether an output is within tolerance, and how far off it is in words.

    Where the reference is NaN or infinite the output must be the same; the rest is measured.
    """
    got, finite = out.to(expected.dtype), expected.isfinite()
    alike = (got == expected) | (got.isnan() & expected.isnan())
    error = torch.where(finite, got - expected, 0.0).abs()
    allowed = tolerance.max_abs + tolerance.max_rel * expected.abs()
    matched = torch.where(finite, error <= allowed, alike)
    share, worst = matched.double().mean().item(), error.max().item()
    right = (
        share >= tolerance.matched_share
        and worst <= tolerance.hard_cap_abs
        and bool(matched[~finite].all())
    )
    size = expected[finite].square().mean().sqrt().item()
    relative = error.square().mean().sqrt().item() / size if size else 0.0
    return right, f"max error {worst:.2e}, relative {relative:.1e}, matched {share:.5f}"


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
    call(0)
    checks = [compare(outs[0][key], bench.expected[key], bench.tolerance) for key in bench.expected]
    note = "; ".join(words for _, words in checks)
    if not all(right for right, _ in checks):
        return Timed(name, None, f"WRONG: {note}")

    first_us = _once_us(bench, partial(call, 0))
    if first_us > _LONG_US:
        more_us = [_once_us(bench, partial(call, 0)) for _ in range(1, _LONG_REPEATS)]
        took = sorted([first_us, *more_us])
    else:
        took = sorted(us / len(outs) for us in _of_all_us(bench, call, len(outs)))
    low, median, high = (took[len(took) * quarter // 4] for quarter in (1, 2, 3))
    return Timed(name, median, note, (low, high))


def _of_all_us(bench: Bench, call: Callable[[int], None], sets: int) -> list[float]:
    """Microseconds of a call of every set together, repeated."""

    def work() -> None:
        for index in range(sets):
            call(index)

    work()
    return _repeats_us(bench, work)


def _repeats_us(bench: Bench, work: Callable[[], None]) -> list[float]:
    """Microseconds of `work`, repeated: the wall clock, or events around it or its CUDA graph."""
    if bench.device == "cpu":
        return [_wall_us(work) for _ in range(5)]
    if bench.launch == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        work = graph.replay
    first = max(_event_us(work), 1.0)
    for _ in range(int(_WARMUP_MS * 1e3 / first)):
        work()
    repeats = int(_MEASURED_MS * 1e3 / _event_us(work))
    return [_event_us(work) for _ in range(max(_LEAST_REPEATS, min(repeats, _MOST_REPEATS)))]


def _once_us(bench: Bench, work: Callable[[], None]) -> float:
    return _wall_us(work) if bench.device == "cpu" else _event_us(work)


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
