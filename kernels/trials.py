"""Check and time one Solution on this machine over random tensors.

For tuning, not for verdicts: everything runs in one process and the Solution could cheat. Verdicts
come from the referee in benchmarks.harness.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Preset, TensorSpec, Tolerance, Workload
from kernels.solutions import Solution

# Calls timed together, each over inputs and, for the operator alone, a state of its own.
SETS = 4
MAX_SETS = 64
# Their total size: so many times the last cache, and no more than so much memory.
_CACHES = 4
_MAX_BYTES = 12 << 30
# Milliseconds of calls before the measured ones and of the measured ones, on a GPU.
_WARMUP_MS, _MEASURED_MS = 40.0, 120.0
_MIN_REPEATS, _MAX_REPEATS = 7, 60
# For a call this long, caches and launches do not matter, and a few repeats are enough: the naive
# product of 8192 cubed takes seconds.
_LONG_US, _LONG_REPEATS = 100_000.0, 3


@dataclass(frozen=True)
class Timed:
    """A Solution's time; `call_us`, a median, is None if it did not run or was wrong.

    `quartiles_us` are the lower and upper quartile of the repeats.
    """

    name: str
    call_us: float | None
    note: str
    quartiles_us: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bench:
    """One workload's sets of state and inputs, and the right answer to the first set."""

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
        """Output buffers full of NaN, so that unwritten elements are found."""
        return {
            spec.name: poison(spec, self.axes, self.dtype, self.device) for spec in self.outputs
        }


def draw(
    specs: tuple[TensorSpec, ...], axes: Mapping[str, int], dtype: torch.dtype, device: str
) -> dict[str, Tensor]:
    """Random tensors as the specs describe them."""
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
    """Convert the contents to their dtype; integers as the harness draws them."""
    if kind == torch.bool:
        return torch.rand_like(tensor) < 0.5
    if kind.is_floating_point:
        return tensor.to(kind)
    limits = torch.iinfo(kind)
    whole = tensor.round() if spec.distribution == "normal" else tensor.floor()
    return whole.clamp(limits.min, limits.max).to(kind)


def poison(spec: TensorSpec, axes: Mapping[str, int], dtype: torch.dtype, device: str) -> Tensor:
    """An unwritten output: NaN, or for integers a value unlike any result."""
    kind = getattr(torch, spec.dtype) if spec.dtype else dtype
    value = float("nan") if kind.is_floating_point else 1 if kind == torch.bool else 113
    return torch.full(spec.sizes(axes), value, dtype=kind, device=device)


def operator_bench(operator: str, preset: Preset, load: Workload) -> Bench:
    """The operator alone at one workload; every call has a state of its own."""
    what, dtype = catalogue.definition(operator), getattr(torch, preset.dtype)
    sets = _sets(preset.device, catalogue.bytes_moved(operator, load.axes, preset.dtype))
    state = [draw(what.state, load.axes, dtype, preset.device) for _ in range(sets)]
    inputs = [draw(what.inputs, load.axes, dtype, preset.device) for _ in range(sets)]
    reference = solutions.reference(operator).reference
    return _bench(operator, preset, load, what.outputs, state, inputs, reference)


def step_bench(operator: str, preset: Preset, load: Workload) -> Bench:
    """The whole Program at one workload; all calls share its state."""
    what, dtype = catalogue.definition(operator), getattr(torch, preset.dtype)
    state = [draw(what.program_state, load.axes, dtype, preset.device)] * SETS
    inputs = [draw(what.program_inputs, load.axes, dtype, preset.device) for _ in range(SETS)]
    reference = solutions.reference(operator).reference_step
    return _bench(operator, preset, load, what.program_outputs, state, inputs, reference)


def _bench(
    operator: str,
    preset: Preset,
    load: Workload,
    outputs: tuple[TensorSpec, ...],
    state: list[dict[str, Tensor]],
    inputs: list[dict[str, Tensor]],
    reference: Callable[..., dict[str, Tensor]],
) -> Bench:
    return Bench(
        operator=operator,
        launch=preset.launch,
        axes=load.axes,
        dtype=getattr(torch, preset.dtype),
        device=preset.device,
        tolerance=catalogue.definition(operator).tolerances[preset.dtype],
        outputs=outputs,
        state=state,
        inputs=inputs,
        expected=reference(state=state[0], inputs=inputs[0], axes=load.axes),
    )


def _sets(device: str, call_bytes: int) -> int:
    """How many calls' tensors keep a GPU's last cache cold, within the memory limit."""
    if device == "cpu":
        return SETS
    cache = int(torch.cuda.get_device_properties(0).L2_cache_size)
    wanted = -(-_CACHES * cache // max(call_bytes, 1))
    return max(2, min(wanted, MAX_SETS, _MAX_BYTES // max(call_bytes, 1)))


def compare(out: Tensor, expected: Tensor, tolerance: Tolerance) -> tuple[bool, str]:
    """Whether an output is within tolerance, and its errors as text.

    Where the reference is NaN or infinite, the output must be the same.
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
    """Check one Solution of the operator on poisoned outputs, then time it."""
    prepared = [solution.prepare(state, bench.axes) for state in bench.state]
    outs = [bench.poisoned() for _ in prepared]

    def call(index: int) -> None:
        solution.run(prepared[index], bench.inputs[index], outs[index])

    return _checked_and_timed(bench, solution.name, call, outs)


def time_step(bench: Bench, solution: Solution) -> Timed:
    """Check and time the Program with one Solution in its slot."""
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
        times_us = sorted([first_us, *more_us])
    else:
        times_us = sorted(us / len(outs) for us in _of_all_us(bench, call, len(outs)))
    low, median, high = (times_us[len(times_us) * quarter // 4] for quarter in (1, 2, 3))
    return Timed(name, median, note, (low, high))


def _of_all_us(bench: Bench, call: Callable[[int], None], sets: int) -> list[float]:
    """Microseconds of one call of every set, repeated."""

    def work() -> None:
        for index in range(sets):
            call(index)

    work()
    return _repeats_us(bench, work)


def _repeats_us(bench: Bench, work: Callable[[], None]) -> list[float]:
    """Microseconds of `work`, repeated: by the wall clock, or events around it or its graph."""
    if bench.device == "cpu":
        return [_wall_us(work) for _ in range(5)]
    if bench.launch == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        work = graph.replay
    first = max(event_us(work), 1.0)
    for _ in range(int(_WARMUP_MS * 1e3 / first)):
        work()
    repeats = int(_MEASURED_MS * 1e3 / event_us(work))
    return [event_us(work) for _ in range(max(_MIN_REPEATS, min(repeats, _MAX_REPEATS)))]


def _once_us(bench: Bench, work: Callable[[], None]) -> float:
    return _wall_us(work) if bench.device == "cpu" else event_us(work)


def _wall_us(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e6


def event_us(work: Callable[[], None]) -> float:
    """Microseconds of queued work by CUDA events."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3
