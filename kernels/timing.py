"""Time an operator's Solutions on this machine, each checked against the reference first.

    python -m kernels.timing OPERATOR --preset h200 [--variants] [--step]

For tuning, not for verdicts: one process, one clock, nothing hidden from what is measured. A
verdict comes from the referee in benchmarks.harness.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Definition, NotAvailable, Preset, TensorSpec, Tolerance, Workload
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
            spec.name: torch.full(
                spec.sizes(self.axes), float("nan"), dtype=self.dtype, device=self.device
            )
            for spec in self.outputs
        }


def draw(
    specs: tuple[TensorSpec, ...], axes: Mapping[str, int], dtype: torch.dtype, device: str
) -> dict[str, Tensor]:
    """Random tensors as the specs ask for."""
    drawn = {}
    for spec in specs:
        kind = getattr(torch, spec.dtype) if spec.dtype else dtype
        tensor = torch.empty(spec.sizes(axes), dtype=kind, device=device)
        if spec.distribution == "normal":
            tensor.normal_()
        elif spec.distribution == "uniform":
            tensor.uniform_()
        else:
            tensor.fill_(1.0)
        drawn[spec.name] = tensor.mul_(spec.amplitude(axes))
    return drawn


def operator_bench(operator: str, preset: Preset, load: Workload, device: str) -> Bench:
    """The operator alone at one workload."""
    what, dtype = catalogue.definition(operator), getattr(torch, preset.dtype)
    state = [draw(what.state, load.axes, dtype, device) for _ in range(SETS)]
    inputs = [draw(what.inputs, load.axes, dtype, device) for _ in range(SETS)]
    higher = torch.float64 if device == "cpu" else torch.float32
    expected = solutions.reference(operator).reference(state[0], inputs[0], load.axes, higher)
    return _bench(operator, what, preset, load, device, state, inputs, expected, what.outputs)


def step_bench(operator: str, preset: Preset, load: Workload, device: str) -> Bench:
    """The whole Program at one workload; its state is shared by all calls."""
    what, dtype = catalogue.definition(operator), getattr(torch, preset.dtype)
    state = draw(what.program_state, load.axes, dtype, device)
    inputs = [draw(what.program_inputs, load.axes, dtype, device) for _ in range(SETS)]
    step = solutions.reference(operator).reference_step
    expected = step(state=state, inputs=inputs[0], axes=load.axes)
    states = [state] * SETS
    return _bench(
        operator, what, preset, load, device, states, inputs, expected, what.program_outputs
    )


def _bench(
    operator: str,
    what: Definition,
    preset: Preset,
    load: Workload,
    device: str,
    state: list[dict[str, Tensor]],
    inputs: list[dict[str, Tensor]],
    expected: dict[str, Tensor],
    outputs: tuple[TensorSpec, ...],
) -> Bench:
    return Bench(
        operator=operator,
        axes=load.axes,
        dtype=getattr(torch, preset.dtype),
        device=device,
        tolerance=what.tolerances[preset.dtype],
        outputs=outputs,
        state=state,
        inputs=inputs,
        expected=expected,
    )


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


def loaders(
    operator: str, variants: bool, item_bytes: int
) -> Iterator[tuple[str, Callable[[], Solution]]]:
    """Every Solution of the operator, and with `variants` every cut its kernels suggest."""
    for name in catalogue.baselines(operator):
        yield name, lambda name=name: solutions.baseline(operator, name)
    for name, path in catalogue.candidates(operator).items():
        yield name, lambda path=path: solutions.candidate(path)
        if not variants or not name.startswith("triton_"):
            continue
        try:
            found = solutions.module_of(path)
        except NotAvailable:
            continue
        for cut, config in getattr(found, "variants", lambda _: {})(item_bytes).items():
            yield f"{name} [{cut}]", lambda found=found, config=config: _cut(found, config)


def _cut(module: Any, config: Any) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
        return module.prepare(state, axes, config)

    return Solution(name=module.__name__, prepare=prepare, run=module.run)


def attempt(name: str, work: Callable[[], Timed]) -> Timed:
    """One Solution's line, whatever happens to it: the others are still to be timed."""
    try:
        return replace(work(), name=name)
    except NotAvailable as reason:
        return Timed(name, None, f"not available: {reason}")
    except Exception as error:
        # Compilers and drivers raise what they like; the table says what it was.
        words = str(error).strip().splitlines()
        return Timed(name, None, f"{type(error).__name__}: {words[0][:150] if words else ''}")


def print_table(title: str, lines: list[Timed], cost: str) -> None:
    """The lines, fastest first; those without a time last."""
    print(f"\n{title}  {cost}", flush=True)
    for line in sorted(lines, key=lambda one: (one.call_us is None, one.call_us or 0.0)):
        timed = "       -" if line.call_us is None else f"{line.call_us:8.1f}"
        print(f"{timed} us  {line.name:<40} {line.note}", flush=True)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m kernels.timing", description=inspect.getdoc(inspect.getmodule(main))
    )
    parser.add_argument("operator", choices=catalogue.operators())
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--variants", action="store_true", help="every cut of every Triton kernel")
    parser.add_argument("--step", action="store_true", help="the whole Program as well")
    parser.add_argument("--only", help="Solutions whose name begins so")
    parser.add_argument("--budget-s", type=float, default=200.0, help="start no more after this")
    asked = parser.parse_args()
    deadline = time.monotonic() + asked.budget_s
    preset = catalogue.presets(asked.operator)[asked.preset]
    item_bytes = torch.empty(0, dtype=getattr(torch, preset.dtype)).element_size()
    for index, load in enumerate(preset.workloads):
        # Cuts are chosen on the workload with the most traffic.
        chosen = list(loaders(asked.operator, asked.variants and index == 0, item_bytes))
        chosen = [one for one in chosen if not asked.only or one[0].startswith(asked.only)]
        flops = catalogue.flops(asked.operator, load.axes)
        moved = catalogue.bytes_moved(asked.operator, load.axes, preset.dtype)
        cost = f"{flops / 1e9:.1f} GFLOP, at least {moved / 1e6:.1f} MB a call"
        jobs = [("operator", operator_bench, time_solution, chosen, cost)]
        if asked.step:
            plain = [one for one in chosen if "[" not in one[0]]
            jobs.append(("program", step_bench, time_step, plain, ""))
        for kind, make, measure, found, words in jobs:
            bench = make(asked.operator, preset, load, preset.device)
            lines = []
            for name, load_solution in found:
                if time.monotonic() > deadline:
                    lines.append(Timed(name, None, "not tried: out of time"))
                    continue
                lines.append(attempt(name, lambda m=measure, b=bench, s=load_solution: m(b, s())))
                if preset.device == "cuda":
                    torch.cuda.empty_cache()
            print_table(f"{asked.operator} {load.name} {kind}", lines, words)


if __name__ == "__main__":
    main()
