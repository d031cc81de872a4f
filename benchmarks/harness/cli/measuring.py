"""Commands that measure: new, run, repeat, calibrate."""

import argparse
import gc
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.harness.cli import files, terminal
from benchmarks.harness.failures import SetupError
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import printable
from benchmarks.records import benchmark_folders, documents, records, signatures
from benchmarks.records.folder_errors import DESCRIPTION
from kernels.solutions import SUFFIXES

_LETTERS = 20_000


def new(arguments: argparse.Namespace) -> int:
    """Print or write a benchmark of an operator's preset, or of a folder."""
    from kernels import catalogue

    try:
        if Path(arguments.operator, DESCRIPTION).is_file():
            document, _ = benchmark_folders.of_folder(Path(arguments.operator))
        else:
            document = catalogue.benchmark_document(arguments.operator, arguments.preset)
    except catalogue.CatalogueError as error:
        raise SetupError(str(error)) from error
    documents.check(document)
    text = json.dumps(document, indent=2) + "\n"
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        arguments.out.write_text(text)
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Measure a candidate and write the record."""
    return _recorded(arguments, *benchmark(arguments.benchmark, arguments.tensors))


def benchmark(path: Path, tensors: Path | None) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The benchmark of a document or folder, and its captured files from `tensors` or beside it."""
    if path.is_dir():
        return benchmark_folders.of_folder(path)
    document = documents.load(files.content(path))
    return document, files.captured(document, tensors or path.parent)


def repeat(arguments: argparse.Namespace) -> int:
    """Measure a record's candidate again by the benchmark inside."""
    record = records.load(files.content(arguments.record))
    candidate, document = record["candidate"], record["benchmark"]
    held = files.captured(document, arguments.tensors or arguments.record.parent)
    if arguments.candidate is not None:
        return _recorded(arguments, document, held)
    if candidate["source"] is None:
        raise SetupError("the record does not contain its candidate's source: name the file")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"candidate{Path(candidate['filename']).suffix}"
        file.write_text(candidate["source"])
        arguments.candidate = str(file)
        return _recorded(arguments, document, held)


def _recorded(
    arguments: argparse.Namespace, document: dict[str, Any], held: dict[str, bytes]
) -> int:
    files.require_room_for(arguments.out)
    key = signatures.take_key(os.environ)
    with ExitStack() as stack:
        # Readers of events need no progress bar.
        watcher = None if arguments.progress else stack.enter_context(terminal.watching(document))
        measured = _measured(
            arguments,
            document,
            held,
            Progress(document, shown=arguments.progress, watcher=watcher),
        )
    if isinstance(measured, Exception):
        # The log first, so that the last line is the error; readers of events have it already.
        log = None if arguments.progress else getattr(measured, "log", None)
        for said in (log, printable.line(measured, _LETTERS)):
            if said:
                print(said, file=sys.stderr)
        return 3
    files.keep(arguments.out, records.serialize(measured, key))
    return 0


def calibrate(arguments: argparse.Namespace) -> int:
    """Measure the baseline's time and write it into a benchmark."""
    document = documents.load(files.content(arguments.benchmark))
    held = files.captured(document, arguments.tensors or arguments.benchmark.parent)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from benchmarks.harness.failures import Caught, DeviceFailed, SideFailed
    from benchmarks.harness.runs import calibration

    try:
        found = calibration.calibrate(document, captured=held)
    except (Caught, DeviceFailed, SideFailed) as error:
        print(printable.line(error, _LETTERS), file=sys.stderr)
        return 3
    files.keep(arguments.benchmark, (json.dumps(found, indent=2) + "\n").encode())
    measured, baseline = found["calibration"], found["baseline"]
    if "version" in baseline:
        print(f"baseline {baseline['name']}: {baseline['package']} {baseline['version']}")
    for name, baseline_us in measured["baseline_us"].items():
        print(f"{name}: baseline {baseline_us:,.1f} us, band {measured['band']:.0%}")
    return 0


def _measured(
    arguments: argparse.Namespace,
    document: dict[str, Any],
    held: dict[str, bytes],
    progress: Progress,
) -> dict[str, Any] | Exception:
    """The sealed record, or the error of a side or the device."""
    # The referee's threads must not spin while a side is on the clock; torch reads this at import.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Garbage collection slows down torch's import.
    gc.disable()
    from benchmarks.harness.failures import DeviceFailed, SideFailed
    from benchmarks.harness.runs import candidates, referee
    from benchmarks.harness.sides import isolation

    gc.freeze()
    gc.enable()
    candidate = candidates.read(arguments.candidate)
    try:
        return referee.run(
            document,
            candidate,
            device_kind=arguments.device or document["hardware"]["device"],
            command=_command(arguments),
            progress=progress,
            nonces=_nonces(arguments.nonce),
            required_isolation=isolation.required(arguments.require_isolation),
            captured=held,
        )
    except (DeviceFailed, SideFailed) as error:
        progress.failed(str(error), code=error.code, log=getattr(error, "log", None))
        return error
    except SetupError as error:
        progress.failed(str(error), code=error.code)
        raise


def _nonces(given: Sequence[str]) -> dict[str, str]:
    """Nonces by issuer, from ISSUER=HEX. Raises SetupError."""
    found = dict(each.partition("=")[::2] for each in given)
    for issuer, value in found.items():
        if issuer not in records.ISSUERS or not re.fullmatch(records.NONCE["pattern"], value):
            known = " or ".join(f"{each}=HEX" for each in records.ISSUERS)
            raise SetupError(f"--nonce takes {known}, with 32 to 128 hexadecimal digits")
    return found


def _command(arguments: argparse.Namespace) -> str:
    """The command to repeat this run, without this machine's folders.

    Quoted for a shell, because file names are untrusted.
    """
    named = arguments.candidate
    candidate = Path(named).name if named.endswith(SUFFIXES) else named
    if arguments.command == "repeat":
        given = [arguments.record.name]
    else:
        given = [arguments.benchmark.name, candidate]
    return shlex.join(["twofold", arguments.command, *given, "--out", arguments.out.name])
