"""The command `import`: convert another project's definitions into benchmark folders."""

import argparse
import math
import re
from pathlib import Path

from benchmarks.harness.cli import files
from benchmarks.harness.cli.folders import require_new
from benchmarks.records.flashinfer_bench import definitions, folders, workloads
from benchmarks.records.flashinfer_bench.errors import ImportRefused

FORMATS = ("flashinfer-bench",)


def convert(arguments: argparse.Namespace) -> int:
    """Write the benchmark folder of a Definition of FlashInfer-Bench."""
    definition = definitions.read(files.content(arguments.file), arguments.file.name)
    folder: Path = arguments.folder or Path(definition.operator)
    operator = require_new(folder)
    scalars = {name: _number(name, value) for name, value in _pairs("scalar", arguments.scalar)}
    log = arguments.workloads or _beside(arguments.file)
    if arguments.axes or log is None:
        points = [
            {name: _size(name, value) for name, value in _pairs("axes", each.split(","))}
            for each in arguments.axes
        ]
        sizes = workloads.from_options(points, definition, scalars)
    else:
        sizes = workloads.from_lines(files.content(log), log.name, definition, scalars)
    made = folders.files(
        definition,
        sizes,
        folders.Options(
            device=arguments.device,
            operator=operator,
            below=dict(_pairs("below", arguments.below)),
        ),
    )
    files.keep_all(folder, made)
    for each in sizes.left_out:
        print(f"left out: {sizes.source}, {each}")
    print(f"wrote {folder}; next: twofold check {folder}")
    return 0


def _beside(file: Path) -> Path | None:
    """The Workloads of a Definition in a trace set: workloads/TYPE/NAME.jsonl."""
    parts = file.resolve().parts
    if len(parts) < 3 or parts[-3] != "definitions":
        return None
    found = Path(*parts[:-3], "workloads", parts[-2], f"{file.stem}.jsonl")
    return found if found.is_file() else None


def _pairs(option: str, given: list[str]) -> list[tuple[str, str]]:
    pairs = [(each.partition("=")[0].strip(), each.partition("=")[2].strip()) for each in given]
    if any(not name or not value for name, value in pairs):
        raise ImportRefused(f"--{option} takes NAME=VALUE: {', '.join(given)}", code="option")
    return pairs


def _size(name: str, value: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,11}", value):
        raise ImportRefused(f"--axes {name}={value}: give a whole number above 0", code="option")
    return int(value)


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ImportRefused(f"--scalar {name}={value}: give a number", code="option")
    return number


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `import`."""
    command = commands.add_parser("import", help="convert a definition into a benchmark folder")
    command.add_argument("format", choices=FORMATS)
    command.add_argument("file", type=Path, help="a Definition, a .json file")
    command.add_argument("folder", type=Path, nargs="?", help="by default named as the Definition")
    command.add_argument(
        "--workloads", type=Path, help="its Workloads, .jsonl; by default those of its trace set"
    )
    command.add_argument(
        "--axes", action="append", default=[], metavar="A=N,B=N", help="sizes of a workload"
    )
    command.add_argument(
        "--scalar", action="append", default=[], metavar="NAME=VALUE", help="a scalar input"
    )
    command.add_argument(
        "--below", action="append", default=[], metavar="NAME=AXIS",
        help="the axis that an integer input points into",
    )  # fmt: skip
    command.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    command.set_defaults(do=convert)
