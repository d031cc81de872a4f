"""Fuzz one parser, or each in turn: `python -m tests.fuzzing TARGET --seconds N`."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from tests.fuzzing.targets import TARGETS

_EXECUTIONS = re.compile(r"^(?:Done |stat::number_of_executed_units: +|#)(\d+)", re.MULTILINE)
_COVERED = re.compile(r"\bcov: (\d+)")
_SHOWN_CHARACTERS = 4000


def main() -> int:
    """Fuzz what the command line names; 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--seconds", type=int, default=60, help="how long each target is fuzzed")
    parser.add_argument("--folder", type=Path, default=Path(".twofold/fuzzing"))
    asked = parser.parse_args()
    names = list(TARGETS) if asked.target == "all" else [asked.target]
    return max([_fuzz(name, asked.folder / name, asked.seconds) for name in names])


def _fuzz(name: str, folder: Path, seconds: int) -> int:
    """Fuzz in a process of its own, which libFuzzer ends; say what came of it."""
    command = [sys.executable, "-m", "tests.fuzzing.process", name, str(folder), str(seconds)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    executions = max(map(int, _EXECUTIONS.findall(ended.stderr)), default=0)
    covered = max(map(int, _COVERED.findall(ended.stderr)), default=0)
    said = f"{name}: {executions:,} executions in {seconds} s, {covered:,} edges"
    if ended.returncode == 0:
        print(f"{said}, nothing found", flush=True)
        return 0
    print(f"{said}, FOUND: the input is in {folder}\n{ended.stderr[-_SHOWN_CHARACTERS:]}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
