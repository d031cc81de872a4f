"""What Nsight Compute says of an operator's Solutions on this GPU: why each takes its time.

    python -m kernels.profiling OPERATOR [--preset h200] [--workload NAME] [--only NAME]

Every Solution runs one call at the workload, checked first, all of its kernels counted. Needs `ncu`
with access to the counters. Counting replays a kernel some forty times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch

from kernels import catalogue, signatures, solutions
from kernels.definition import Preset, Workload
from kernels.output import while_it_is_read
from kernels.timing import attempt
from kernels.trials import Bench, Timed, compare, operator_bench

LAUNCHING = "--launch"


def profiled(operator: str, preset: str, workload: str, name: str) -> str:
    """One Solution's kernels as a table. RuntimeError in ncu's or the Solution's words."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "call.ncu-rep")
        work = [sys.executable, "-m", "kernels.profiling", operator, "--preset", preset]
        work += ["--workload", workload, "--only", name, LAUNCHING]
        _said([*signatures.NCU, "--export", report, *work])
        return signatures.table(list(signatures.read(_said(signatures.shown(report)))))


def _said(command: list[str] | tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError("profiling needs Nsight Compute: there is no `ncu` here") from error
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or done.stdout.strip())[-300:])
    return done.stdout


def launch(operator: str, preset: Preset, load: Workload, name: str) -> None:
    """What runs under ncu: a checked call that it does not see, and one that it does."""
    bench = operator_bench(operator, preset, load)
    solution = solutions.named(operator, name)
    prepared = solution.prepare(bench.state[0], bench.axes)
    out = bench.poisoned()
    call = partial(solution.run, prepared, bench.inputs[0], out)
    call()
    _check(bench, out)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def _check(bench: Bench, out: dict[str, torch.Tensor]) -> None:
    for name, expected in bench.expected.items():
        right, words = compare(out[name], expected, bench.tolerance)
        if not right:
            sys.exit(f"{name} is wrong: {words}")


def _chosen(operator: str, preset: str, workload: str) -> Workload:
    loads = catalogue.presets(operator)[preset].workloads
    found = [load for load in loads if load.name.startswith(workload)]
    if not found:
        names = ", ".join(load.name for load in loads)
        sys.exit(f"{operator}/{preset} has no workload '{workload}'; it has {names}")
    return found[0]


def main() -> None:
    """Read the command line; profile and print, or launch what ncu is to see."""
    parser = argparse.ArgumentParser(prog="python -m kernels.profiling")
    parser.add_argument("operator", choices=catalogue.operators())
    parser.add_argument("--preset", default="h200")
    parser.add_argument("--workload", default="", help="the first whose name begins so")
    parser.add_argument("--only", default="", help="Solutions whose name begins so")
    parser.add_argument(LAUNCHING, action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    operator, load = asked.operator, _chosen(asked.operator, asked.preset, asked.workload)
    if asked.launch:
        launch(operator, catalogue.presets(operator)[asked.preset], load, asked.only)
        return
    names = [*catalogue.baselines(operator), *catalogue.candidates(operator)]
    for name in (one for one in names if one.startswith(asked.only)):
        told: list[str] = []

        def work(name: str = name, told: list[str] = told) -> Timed:
            told.append(profiled(operator, asked.preset, load.name, name))
            return Timed(name, None, "")

        line = attempt(name, work)
        print(f"\n{operator} {load.name} {name} {line.note}", *told, sep="\n", flush=True)


if __name__ == "__main__":
    with while_it_is_read():
        main()
