"""Time an operator's Solutions on this machine, each checked against the reference first.

    python -m kernels.timing OPERATOR --preset h200 [--variants] [--step] [--workload NAME]

`--variants` also times every cut of candidates that define `variants(item_bytes)`, a mapping of
short names to cuts, and take a cut as third argument of `prepare`. A Solution that fails is listed
with the reason, and the others are still timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import NOT_AVAILABLE, OUT_OF_TIME, NotAvailable, Preset, Workload
from kernels.output import exit_when_stdout_closes
from kernels.solutions import Solution
from kernels.trials import Bench, Timed, operator_bench, step_bench, time_solution, time_step

Load = Callable[[], Solution]


@dataclass(frozen=True)
class Job:
    """One table: a bench, how to measure on it, and the Solutions to measure."""

    title: str
    make: Callable[[], Bench]
    measure: Callable[[Bench, Solution], Timed]
    solutions: list[tuple[str, Load]]

    def run(self, deadline: float) -> None:
        """Measure and print; Solutions reached after the deadline are listed as not tried."""
        bench, lines = self.make(), []
        for name, load in self.solutions:
            if time.monotonic() > deadline:
                lines.append(Timed(name, None, OUT_OF_TIME))
                continue
            lines.append(attempt(name, partial(_load_and_measure, self.measure, bench, load)))
            if bench.device == "cuda":
                torch.cuda.empty_cache()
        print_table(self.title, lines)


def attempt(name: str, work: Callable[[], Timed]) -> Timed:
    """Measure one Solution; any failure becomes its note, so that the others are still timed."""
    try:
        return replace(work(), name=name)
    except NotAvailable as reason:
        return Timed(name, None, f"{NOT_AVAILABLE}{reason}")
    except Exception as error:
        # Compilers and drivers raise many types of error.
        message = str(error).strip().splitlines()
        return Timed(name, None, f"{type(error).__name__}: {message[0][:150] if message else ''}")


def print_table(title: str, lines: list[Timed]) -> None:
    """Print the lines, fastest first, those without a time last."""
    print(f"\n{title}", flush=True)
    for line in sorted(lines, key=lambda one: (one.call_us is None, one.call_us or 0.0)):
        timed = "       -" if line.call_us is None else f"{line.call_us:8.1f}"
        print(f"{timed} us  {line.name:<40} {line.note}", flush=True)


def jobs(operator: str, preset: Preset, *, variants: bool, step: bool) -> Iterator[Job]:
    """A table for the operator at each workload, and with `step` one for the Program."""
    item_bytes = torch.empty(0, dtype=getattr(torch, preset.dtype)).element_size()
    plain = list(_solutions(operator))
    cuts = list(_cuts(operator, item_bytes)) if variants else []
    for load in preset.workloads:
        yield Job(
            title=f"{operator} {load.name} operator, {_cost(operator, preset, load)}",
            make=partial(operator_bench, operator, preset, load),
            measure=time_solution,
            solutions=plain + cuts,
        )
        if step:
            yield Job(
                title=f"{operator} {load.name} program",
                make=partial(step_bench, operator, preset, load),
                measure=time_step,
                solutions=plain + cuts,
            )


def _cost(operator: str, preset: Preset, load: Workload) -> str:
    flops = catalogue.flops(operator, load.axes)
    moved = catalogue.bytes_moved(operator, load.axes, preset.dtype)
    return f"{flops / 1e9:.1f} GFLOP and at least {moved / 1e6:.1f} MB a call"


def _solutions(operator: str) -> Iterator[tuple[str, Load]]:
    for name in (*catalogue.baselines(operator), *catalogue.candidates(operator)):
        yield name, partial(solutions.named, operator, name)


def _cuts(operator: str, item_bytes: int) -> Iterator[tuple[str, Load]]:
    for name, path in catalogue.candidates(operator).items():
        try:
            module = solutions.module_of(path)
        except NotAvailable:
            continue
        if hasattr(module, "variants"):
            for cut, config in module.variants(item_bytes).items():
                yield f"{name} [{cut}]", partial(_cut, module, config)


def _cut(module: ModuleType, config: Any) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
        return module.prepare(state, axes, config)

    return Solution(name=module.__name__, prepare=prepare, run=module.run)


def _load_and_measure(
    measure: Callable[[Bench, Solution], Timed], bench: Bench, load: Load
) -> Timed:
    return measure(bench, load())


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m kernels.timing")
    parser.add_argument("operator", choices=catalogue.operators_of_one_rank())
    parser.add_argument("--preset", default="tiny", help="tiny, which every operator has")
    parser.add_argument("--variants", action="store_true", help="every cut of the candidates")
    parser.add_argument("--step", action="store_true", help="the whole Program too")
    parser.add_argument(
        "--only", default="", metavar="PREFIX", help="only Solutions with this prefix"
    )
    parser.add_argument(
        "--workload", default="", metavar="PREFIX", help="only workloads with this prefix"
    )
    parser.add_argument(
        "--budget-s", type=float, default=200.0, help="start no Solution after this"
    )
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.budget_s
    try:
        preset = catalogue.preset_named(arguments.operator, arguments.preset)
    except catalogue.CatalogueError as error:
        parser.error(str(error))
    loads = tuple(load for load in preset.workloads if load.name.startswith(arguments.workload))
    preset = replace(preset, workloads=loads)
    for job in jobs(arguments.operator, preset, variants=arguments.variants, step=arguments.step):
        chosen = [one for one in job.solutions if one[0].startswith(arguments.only)]
        replace(job, solutions=chosen).run(deadline)


if __name__ == "__main__":
    with exit_when_stdout_closes():
        main()
