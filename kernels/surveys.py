"""Every Solution of an operator on this machine, side by side: checked, then timed.

    python -m kernels.surveys OPERATOR --preset h200

Prints one JSON object a line: the job that starts, then its result. So benchmarks.surveying
knows which Solution a process died of, and starts another process for the rest. A survey shows
which baseline is the strongest; a verdict comes from the referee.
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
from kernels.definition import NOT_AVAILABLE, NotAvailable, Preset, Workload
from kernels.solutions import Solution, SolutionError
from kernels.timing import attempt
from kernels.trials import Bench, Timed, operator_bench, step_bench, time_solution, time_step

Level = Literal["operator", "program"]
OUT_OF_TIME = "not tried: out of time"


@dataclass(frozen=True)
class Place:
    """Where Solutions are held against each other: one workload, alone or in the Program."""

    workload: Workload
    level: Level

    def bench(self, operator: str, preset: Preset) -> Bench:
        """Tensors and the right answer."""
        make = operator_bench if self.level == "operator" else step_bench
        return make(operator, preset, self.workload)

    @property
    def measure(self) -> Callable[[Bench, Solution], Timed]:
        """What times a Solution here."""
        return time_solution if self.level == "operator" else time_step


def jobs(operator: str, preset: Preset) -> list[tuple[Place, str]]:
    """What is measured, in order: one Solution after the other, the preset's own two first.

    So a library that compiles for a minute costs time that nobody after it needs more. Each at
    the most frequent workload first, alone, then in the Program.
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
    """From job `begin` on, a line before each job and one after it; none begins past the budget.

    Ends early, the failure told, when a Solution left the GPU unusable for this process.
    """
    deadline = time.monotonic() + budget_s
    benches: dict[tuple[str, Level], Bench] = {}
    for index, (place, name) in enumerate(jobs(operator, preset)):
        if index < begin or name in without:
            continue
        if time.monotonic() > deadline:
            yield {"job": index, **answer(Timed(name, None, OUT_OF_TIME))}
            continue
        yield {"trying": index}
        try:
            solution = _loaded(operator, name)
        except (NotAvailable, SolutionError) as reason:
            yield {"job": index, **answer(Timed(name, None, f"{NOT_AVAILABLE}{reason}"))}
            continue
        at = place.workload.name, place.level
        if at not in benches:
            benches[at] = place.bench(operator, preset)
        timed = attempt(name, partial(place.measure, benches[at], solution))
        yield {"job": index, **answer(timed)}
        if not _usable(preset):
            return


@cache
def _loaded(operator: str, name: str) -> Solution:
    return solutions.named(operator, name)


def _usable(preset: Preset) -> bool:
    """Whether the device still computes; after an illegal access CUDA answers nobody else."""
    if preset.device == "cuda":
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError:
            return False
    return True


def answer(timed: Timed) -> dict[str, Any]:
    """A line of the table as plain data; the note says why where there is no time."""
    low, high = timed.quartiles_us or (None, None)
    return {"median_us": timed.call_us, "low_us": low, "high_us": high, "note": timed.note}


def main() -> None:
    """Read the command line, print the lines."""
    parser = argparse.ArgumentParser(prog="python -m kernels.surveys")
    parser.add_argument("operator", choices=catalogue.operators())
    parser.add_argument("--preset", default="tiny", help="every operator has tiny, for a processor")
    parser.add_argument("--begin", type=int, default=0, metavar="JOB")
    parser.add_argument("--without", action="append", default=[], metavar="SOLUTION")
    parser.add_argument("--budget-s", type=float, default=60.0, help="begin no more after this")
    asked = parser.parse_args()
    try:
        preset = catalogue.preset_named(asked.operator, asked.preset)
    except catalogue.CatalogueError as error:
        parser.error(str(error))
    lines = survey(
        asked.operator,
        preset,
        begin=asked.begin,
        without=asked.without,
        budget_s=asked.budget_s,
    )
    for line in lines:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
