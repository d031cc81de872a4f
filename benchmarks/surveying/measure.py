"""`python -m kernels measure OPERATOR`: measure and sign a preset's survey and record.

    CUDA_VISIBLE_DEVICES=0 python -m kernels measure int8_linear --key signing-key --out somewhere

Writes OPERATOR/records/PRESET.survey.json and PRESET.record.json below `--out`, by default the
catalogue. Each is measured in its own process, one after the other, so that the GPU is exclusive.
`--preset 'h200*'` measures every matching preset; presets that differ only in the baseline share
the first one's survey. `--against strongest` (or a baseline's name) measures the record against
that baseline, as PRESET.NAME.record.json.
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.published import surveys
from benchmarks.records import signatures
from kernels import catalogue

PARTS = ("survey", "record")
STRONGEST = "strongest"
# Larger records are committed compressed.
MOST_BYTES = 200_000
_CATALOGUE = Path(catalogue.__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each operator; the exit code is that of the first failure."""
    asked = _parser().parse_args(arguments)
    operators = catalogue.operators() if asked.all else [asked.operator]
    if operators == [None]:
        _parser().error("name an operator, or --all")
    lacking = [said for operator in operators if (said := _lacking(operator, asked))]
    if lacking:
        print("\n".join(lacking), file=sys.stderr)
        return 2
    if asked.key is not None:
        os.environ[signatures.KEY_FILE_VARIABLE] = str(asked.key.resolve())
    codes = [
        _measured(operator, preset, asked)
        for operator in operators
        for preset in _presets(operator, asked)
    ]
    if not codes:
        print(f"no preset {asked.preset}", file=sys.stderr)
        return 2
    return next((code for code in codes if code), 0)


def _presets(operator: str, asked: argparse.Namespace) -> list[str]:
    return fnmatch.filter(catalogue.presets(operator), asked.preset)


def _lacking(operator: str, asked: argparse.Namespace) -> str | None:
    """Why this cannot be measured here, in one line; None if it can."""
    known, chosen = catalogue.presets(operator), _presets(operator, asked)
    baselines = catalogue.baselines(operator)
    if asked.against not in (None, STRONGEST, *baselines):
        return f"{operator} has no baseline '{asked.against}'; it has {', '.join(baselines)}"
    if not any(known[name].device == "cuda" for name in chosen) or _sees_gpu():
        return None
    small = [name for name, preset in known.items() if preset.device == "cpu"]
    return (
        f"{operator}/{asked.preset} is measured on a CUDA GPU, and torch finds none; on the "
        f"processor (written to the catalogue unless --out is set): --preset "
        f"{' or '.join(small)}"
    )


@cache
def _sees_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernels measure")
    parser.add_argument("operator", nargs="?", choices=catalogue.operators())
    parser.add_argument("--all", action="store_true", help="every operator, one after the other")
    parser.add_argument("--preset", default="h200", help="a name, or a pattern such as 'h200*'")
    parser.add_argument("--key", type=Path, help="file of the key that signs")
    parser.add_argument("--out", type=Path, default=_CATALOGUE, help="where OPERATOR/records/ is")
    parser.add_argument("--only", choices=PARTS, help="one of the two")
    parser.add_argument("--against", metavar="BASELINE", help=f"a baseline's name, or {STRONGEST}")
    parser.add_argument("--budget-s", type=float, default=75.0, help="of the survey")
    return parser


def _measured(operator: str, preset: str, asked: argparse.Namespace) -> int:
    """Measure both parts of a preset, the second even if the first fails."""
    folder = asked.out / operator / "records"
    folder.mkdir(parents=True, exist_ok=True)
    code = 0
    for part in _parts(operator, preset, asked):
        started = time.monotonic()
        measure = _survey if part == "survey" else _record
        failed = measure(operator, preset, asked, folder)
        said = f"exit {failed}" if failed else "written"
        took_s = time.monotonic() - started
        print(f"{operator}/{preset} {part}: {said} in {took_s:.0f} s", flush=True)
        code = code or failed
    return code


def _parts(operator: str, preset: str, asked: argparse.Namespace) -> list[str]:
    """The parts to measure for this preset, in order."""
    surveyed = asked.against is None and _own_survey(operator, preset)
    if catalogue.has_ranks(operator):
        # `python -m kernels.rank_trials` compares their Solutions; there is no survey of it yet.
        surveyed = False
    return [part for part in PARTS if asked.only in (None, part) and (part != "survey" or surveyed)]


def _own_survey(operator: str, preset: str) -> bool:
    """Whether this is the first preset with its workloads; the baseline does not matter."""
    known = catalogue.presets(operator)

    def surveyed(name: str) -> tuple[object, ...]:
        chosen = known[name]
        return chosen.workloads, chosen.dtype, chosen.device, chosen.hardware, chosen.launch

    return next(name for name in known if surveyed(name) == surveyed(preset)) == preset


def _survey(operator: str, preset: str, asked: argparse.Namespace, folder: Path) -> int:
    command = [sys.executable, "-m", "benchmarks.surveying.survey_runs", operator]
    command += ["--preset", preset, "--out", str(folder / f"{preset}.survey.json")]
    command += ["--budget-s", str(asked.budget_s)]
    return subprocess.run(command, check=False).returncode


def _record(operator: str, preset: str, asked: argparse.Namespace, folder: Path) -> int:
    """Run the referee on the preset's benchmark."""
    against = _against(preset, asked, folder)
    document = catalogue.benchmark_document(operator, preset, baseline=against)
    candidate = f"{operator}/{catalogue.presets(operator)[preset].candidate}"
    name = f"{preset}.{against}" if against else preset
    with tempfile.TemporaryDirectory(prefix="twofold-measure-") as scratch:
        benchmark, record = Path(scratch) / f"{name}.json", Path(scratch) / "record.json"
        benchmark.write_text(json.dumps(document, indent=2) + "\n")
        command = [sys.executable, "-m", "benchmarks.harness", "run", str(benchmark), candidate]
        command += ["--out", str(record), "--progress"]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            return done.returncode
        _keep(record.read_bytes(), folder / f"{name}.record.json")
    return 0


def _against(preset: str, asked: argparse.Namespace, folder: Path) -> str | None:
    """The baseline to measure against; the strongest according to the survey in the folder."""
    if asked.against != STRONGEST:
        named: str | None = asked.against
        return named
    found = surveys.strongest_baseline(
        surveys.load((folder / f"{preset}.survey.json").read_bytes())
    )
    return None if found is None else found.name


def _keep(content: bytes, file: Path) -> None:
    """Write a record, compressed if it is large; the same bytes give the same file."""
    packed = file.with_name(file.name + ".gz")
    if len(content) > MOST_BYTES:
        packed.write_bytes(gzip.compress(content, mtime=0))
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(content)
        packed.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
