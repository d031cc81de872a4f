"""Check and time every Solution of an operator on this machine.

    python -m kernels.surveys OPERATOR --preset h200

Prints JSON lines: one before each job and one with its result, so that benchmarks.surveying can
identify the Solution that killed a process and start another process for the rest. A survey finds
the strongest baseline; verdicts come from the referee.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import torch

from kernels import catalogue, solutions
from kernels.definition import NOT_AVAILABLE, OUT_OF_TIME, NotAvailable, Preset, Workload
from kernels.solutions import Solution, SolutionError
from kernels.timing import attempt
from kernels.trials import Bench, Timed, operator_bench, step_bench, time_solution, time_step

Level = Literal["operator", "program"]


@dataclass(frozen=True)
class Place:
    """Where Solutions are compared: one workload, as operator alone or in the Program."""

    workload: Workload
    level: Level

    def bench(self, operator: str, preset: Preset) -> Bench:
        """The tensors and the right answer."""
        make = operator_bench if self.level == "operator" else step_bench
        return make(operator, preset, self.workload)

    @property
    def measure(self) -> Callable[[Bench, Solution], Timed]:
        """The function that times a Solution here."""
        return time_solution if self.level == "operator" else time_step


def jobs(operator: str, preset: Preset) -> list[tuple[Place, str]]:
    """Every place and Solution, in order: the preset's own two Solutions first.

    Each Solution begins with the most frequent workload, alone, then in the Program. If the time
    ends, the important results are there.
    """
    known = [*catalogue.baselines(operator), *catalogue.candidates(operator)]
    ordered = sorted(known, key=lambda name: name not in (preset.baseline, preset.candidate))
    loads = sorted(preset.workloads, key=lambda load: -load.weight)
    levels: tuple[Level, ...] = ("operator", "program")
    return [(Place(load, level), name) for name in ordered for load in loads for level in levels]


@torch.no_grad()
def survey(
    operator: str, preset: Preset, *, begin: int, without: Sequence[str], budget_s: float
) -> Iterator[dict[str, Any]]:
    """Run the jobs from `begin` on; yields a line before and after each.

    No job starts after `budget_s` seconds. Stops after a Solution that left the GPU unusable for
    this process.
    """
    deadline = time.monotonic() + budget_s
    benches: dict[tuple[str, Level], Bench] = {}
    for index, (place, name) in enumerate(jobs(operator, preset)):
        if index < begin or name in without:
            continue
        if time.monotonic() > deadline:
            yield {"job": index, **as_line(Timed(name, None, OUT_OF_TIME))}
            continue
        yield {"trying": index}
        try:
            solution = _loaded(operator, name)
        except (NotAvailable, SolutionError) as reason:
            yield {"job": index, **as_line(Timed(name, None, f"{NOT_AVAILABLE}{reason}"))}
            continue
        at = place.workload.name, place.level
        if at not in benches:
            benches[at] = place.bench(operator, preset)
        timed = attempt(name, partial(place.measure, benches[at], solution))
        yield {"job": index, **as_line(timed)}
        if not _usable(preset):
            return


@cache
def _loaded(operator: str, name: str) -> Solution:
    return solutions.named(operator, name)


def _usable(preset: Preset) -> bool:
    """Whether the device still computes; after an illegal access every CUDA call fails."""
    if preset.device == "cuda":
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError:
            return False
    return True


def as_line(timed: Timed) -> dict[str, Any]:
    """A result as plain data; without a time the note has the reason."""
    low, high = timed.quartiles_us or (None, None)
    return {"median_us": timed.call_us, "low_us": low, "high_us": high, "note": timed.note}


def main() -> None:
    """Read the command line, print the lines."""
    parser = argparse.ArgumentParser(prog="python -m kernels.surveys")
    parser.add_argument("operator", choices=catalogue.operators_of_one_rank())
    parser.add_argument("--preset", default="tiny", help="tiny, which every operator has")
    parser.add_argument("--begin", type=int, default=0, metavar="JOB")
    parser.add_argument("--without", action="append", default=[], metavar="SOLUTION")
    parser.add_argument("--budget-s", type=float, default=60.0, help="start no job after this")
    arguments = parser.parse_args()
    try:
        preset = catalogue.preset_named(arguments.operator, arguments.preset)
    except catalogue.CatalogueError as error:
        parser.error(str(error))
    lines = survey(
        arguments.operator,
        preset,
        begin=arguments.begin,
        without=arguments.without,
        budget_s=arguments.budget_s,
    )
    for line in lines:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
