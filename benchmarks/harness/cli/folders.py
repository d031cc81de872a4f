"""Commands for a benchmark of one's own: init, check."""

import argparse
import os
import re
import shutil
from pathlib import Path

from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import printable
from benchmarks.records import benchmark_folders

_STARTERS = Path(__file__).resolve().parents[1] / "starters"
KINDS = ("attention", "matmul", "elementwise", "module")
_LETTERS = 20_000


def init(arguments: argparse.Namespace) -> int:
    """Write a benchmark folder that runs as it is."""
    folder: Path = arguments.folder
    name = folder.resolve().name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SetupError(f"folder {name}: name it with small letters, digits and underscores")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SetupError(f"folder {folder} is not empty: choose a new one")
    starter = _STARTERS / arguments.kind
    try:
        shutil.copytree(
            starter,
            folder,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
            copy_function=shutil.copyfile,
        )
        description = folder / benchmark_folders.DESCRIPTION
        own = f'operator = "my_{arguments.kind}"'
        description.write_text(description.read_text().replace(own, f'operator = "{name}"'))
    except OSError as error:
        raise SetupError(f"cannot write {folder}: {error.strerror}") from error
    baseline = next((folder / "baselines").glob("*.py"))
    print(f"wrote {folder}; next: twofold check {folder}")
    print(f"a candidate has the form of {baseline}")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Try a benchmark folder as the referee will; exit code 1 if something is to be changed."""
    document = benchmark_folders.document(benchmark_folders.read(arguments.folder))
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from benchmarks.harness.runs import folder_checks

    failed = False
    for result in folder_checks.check(document):
        outcome = "ok" if result.passed else result.level
        print(f"{outcome}: {result.title}: {printable.line(result.message, _LETTERS)}", flush=True)
        failed |= not result.passed and result.level == "error"
    return 1 if failed else 0
