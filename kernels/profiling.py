"""Profile an operator's Solutions on this GPU with Nsight Compute.

    python -m kernels.profiling OPERATOR [--preset h200] [--workload NAME] [--only NAME]

Every Solution runs one checked call at the workload, with counters of all its kernels. Needs `ncu`
with access to the counters, which replays each kernel about forty times.
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
from kernels.output import exit_when_stdout_closes
from kernels.timing import attempt
from kernels.trials import Bench, Timed, compare, operator_bench

LAUNCHING = "--launch"


def profiled(operator: str, preset: str, workload: str, name: str) -> str:
    """One Solution's kernels as a table. RuntimeError with ncu's or the Solution's message."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "call.ncu-rep")
        work = [sys.executable, "-m", "kernels.profiling", operator, "--preset", preset]
        work += ["--workload", workload, "--only", name, LAUNCHING]
        _output_of([*signatures.NCU, "--export", report, *work])
        return signatures.table(
            list(signatures.read(_output_of(signatures.export_command(report))))
        )


def _output_of(command: list[str] | tuple[str, ...]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError("profiling needs Nsight Compute: install `ncu`") from error
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or done.stdout.strip())[-300:])
    return done.stdout


def launch(operator: str, preset: Preset, load: Workload, name: str) -> None:
    """Run a checked call, then one that ncu profiles."""
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
    """Read the command line; profile and print, or run the call under ncu."""
    parser = argparse.ArgumentParser(prog="python -m kernels.profiling")
    parser.add_argument("operator", choices=catalogue.operators_of_one_rank())
    parser.add_argument("--preset", default="h200")
    parser.add_argument(
        "--workload", default="", metavar="PREFIX", help="the first with this prefix"
    )
    parser.add_argument(
        "--only", default="", metavar="PREFIX", help="only Solutions with this prefix"
    )
    parser.add_argument(LAUNCHING, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    operator, load = (
        arguments.operator,
        _chosen(arguments.operator, arguments.preset, arguments.workload),
    )
    if arguments.launch:
        launch(operator, catalogue.presets(operator)[arguments.preset], load, arguments.only)
        return
    names = [*catalogue.baselines(operator), *catalogue.candidates(operator)]
    for name in (one for one in names if one.startswith(arguments.only)):
        tables: list[str] = []

        def work(name: str = name, tables: list[str] = tables) -> Timed:
            tables.append(profiled(operator, arguments.preset, load.name, name))
            return Timed(name, None, "")

        line = attempt(name, work)
        print(f"\n{operator} {load.name} {name} {line.note}", *tables, sep="\n", flush=True)


if __name__ == "__main__":
    with exit_when_stdout_closes():
        main()
