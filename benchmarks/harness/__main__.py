"""`python -m benchmarks.harness new | run | verify`; each command's help says what it does.

Exit codes. run: 0 a record was written, whatever its verdict; 2 unusable input; 3 a side could
not be measured. verify: 0 the record stands; 1 it differs from itself; 2 it cannot be read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import documents, records
from benchmarks.harness.canonical import canonical
from benchmarks.harness.documents import BenchmarkError
from benchmarks.harness.progress import Progress
from benchmarks.harness.records import RecordError


def _new(arguments: argparse.Namespace) -> int:
    from kernels import catalogue

    try:
        document = catalogue.benchmark_document(arguments.operator, arguments.preset)
    except catalogue.CatalogueError as error:
        raise BenchmarkError(str(error)) from error
    documents.check(document)
    text = json.dumps(document, indent=2) + "\n"
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        arguments.out.write_text(text)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    document = documents.load(_content(arguments.benchmark))
    if not arguments.out.parent.is_dir():
        raise BenchmarkError(f"there is no folder {arguments.out.parent} for the record")
    # The referee's threads must sleep, not spin, while a side is on the clock; torch reads
    # this once, when it is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from benchmarks.harness import candidates, referee
    from benchmarks.harness.failures import DeviceFailed, SideFailed

    candidate = candidates.read(arguments.candidate)
    progress = Progress(document, shown=arguments.progress)
    try:
        record = referee.run(
            document,
            candidate,
            device_kind=arguments.device or document["hardware"]["device"],
            command=_command(arguments),
            progress=progress,
        )
    except (DeviceFailed, SideFailed) as error:
        progress.failed(str(error))
        print(error, file=sys.stderr)
        return 3
    except BenchmarkError as error:
        progress.failed(str(error))
        raise
    unfinished = arguments.out.with_name(arguments.out.name + ".part")
    unfinished.write_bytes(canonical(record))
    unfinished.replace(arguments.out)
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """The command that repeats this run, without this machine's folders."""
    named = arguments.candidate
    candidate = Path(named).name if named.endswith(".py") else named
    return (
        f"python -m benchmarks.harness run {arguments.benchmark.name} {candidate} "
        f"--out {arguments.out.name}"
    )


def _verify(arguments: argparse.Namespace) -> int:
    record = records.load(_content(arguments.record))
    differences = records.problems(record)
    for difference in differences:
        print(difference, file=sys.stderr)
    if differences:
        return 1
    summary = record["summary"]
    print(f"{summary['verdict']}: {'; '.join(summary['reasons'])}")
    return 0


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"cannot read {path}: {error.strerror}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness")
    commands = parser.add_subparsers(required=True)
    new = commands.add_parser("new", help="print a ready-made benchmark of an operator")
    new.add_argument("operator")
    new.add_argument("--preset", default="cpu")
    new.add_argument("--out", type=Path)
    new.set_defaults(do=_new)
    run = commands.add_parser("run", help="measure a candidate, write the record")
    run.add_argument("benchmark", type=Path)
    run.add_argument("candidate", help="a .py file, or operator/name of the catalogue")
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--progress", action="store_true", help="one JSON object a line on stdout")
    run.add_argument("--device", choices=["cpu", "cuda"])
    run.set_defaults(do=_run)
    verify = commands.add_parser("verify", help="recompute a record's digest and verdict")
    verify.add_argument("record", type=Path)
    verify.set_defaults(do=_verify)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.do(parsed)
    except (BenchmarkError, RecordError) as error:
        print(error, file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
