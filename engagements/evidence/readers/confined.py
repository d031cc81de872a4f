"""Read an untrusted file in a process with resource limits, which may crash safely."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.facts import Facts, from_data

PROGRESS, FACTS, ERROR = "progress", "facts", "error"
# Address space, of which a reader uses less than half: libraries reserve without using.
MEMORY_BYTES: Final = 4 * 2**30
# Disk limit of a compressed file that must be decompressed to disk.
DISK_BYTES: Final = 8 * 2**30
# 8 GiB of a trace at 50 MB/s.
WALL_S: Final = 600.0
BEAT_S: Final = 5.0
_ROOT = Path(__file__).resolve().parents[3]
_LONGEST_ANSWER: Final = 64 * 2**20


class Stopped(Exception):
    """The caller cancelled the reading."""


def read(
    file: Path,
    name: str = "",
    *,
    patterns: Mapping[str, str] | None = None,
    beat: Callable[[float], bool] | None = None,
    wall_s: float = WALL_S,
    memory_bytes: int = MEMORY_BYTES,
    disk_bytes: int = DISK_BYTES,
) -> Facts:
    """Return the facts of a file, like `engagements.evidence.readers.read`.

    `beat` is called with the share read at least every `BEAT_S` seconds; returning False ends
    reading with Stopped. EvidenceError also when the process exceeds `wall_s` seconds,
    `memory_bytes` of address space or `disk_bytes` of a temporary file, or crashes. Temporary
    files are always deleted.
    """
    with tempfile.TemporaryDirectory(prefix="twofold-reading-") as scratch:
        limits = {"memory": memory_bytes, "disk": disk_bytes, "cpu": int(wall_s) + 1}
        command = _command(file, name, patterns or {}, limits)
        return _facts(command, scratch, beat, time.monotonic() + wall_s)


def _command(
    file: Path, name: str, patterns: Mapping[str, str], limits: Mapping[str, int]
) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "engagements.evidence.readers",
        str(file.resolve()),
        "--name",
        name,
    ]
    command += ["--patterns", json.dumps(dict(patterns))]
    command += ["--memory-bytes", str(limits["memory"]), "--disk-bytes", str(limits["disk"])]
    return [*command, "--cpu-seconds", str(limits["cpu"])]


def _facts(
    command: list[str], scratch: str, beat: Callable[[float], bool] | None, until: float
) -> Facts:
    process = subprocess.Popen(
        command,
        cwd=_ROOT,
        env=_environment(scratch),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    share = 0.0
    try:
        for line in _lines(process, until):
            word, _, rest = line.partition(" ")
            if word == FACTS:
                return from_data(json.loads(rest))
            if word == ERROR:
                code, _, message = rest.partition(" ")
                raise EvidenceError(message, code=code)
            if word == PROGRESS:
                share = float(rest)
            if beat is not None and not beat(share):
                raise Stopped
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    raise EvidenceError(
        "The reader crashed on this file; export it again", code="evidence.reader_crashed"
    )


def _environment(scratch: str) -> dict[str, str]:
    """Return a minimal environment without secrets."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    kept["TMPDIR"] = scratch
    # Each further thread of a library reserves address space.
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "ARROW_IO_THREADS"), "1")
    return kept | single | {"PYTHONPATH": str(_ROOT), "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}


def _lines(process: subprocess.Popen[bytes], until: float) -> Iterator[str]:
    """Yield the output line by line, and "" for every interval without output."""
    assert process.stdout is not None
    stream, rest = process.stdout.fileno(), b""
    with contextlib.closing(selectors.DefaultSelector()) as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if time.monotonic() > until:
                raise EvidenceError(
                    "Reading this file exceeded the time limit; profile fewer steps",
                    code="evidence.time_limit",
                )
            if not selector.select(min(BEAT_S, max(0.0, until - time.monotonic()))):
                yield ""
                continue
            chunk = os.read(stream, 2**16)
            if not chunk:
                return
            *whole, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LONGEST_ANSWER:
                raise EvidenceError(
                    "The summary of this file is too large; profile fewer steps",
                    code="evidence.summary_too_large",
                )
            yield from (line.decode("utf-8", "replace") for line in whole)
