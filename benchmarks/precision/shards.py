"""Share trials out to GPUs, and combine the parts."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.published import committed
from benchmarks.records import schemas, signatures
from benchmarks.records.signatures import SigningKey

_SAME = ("benchmark", "device")


class PartsDiffer(ValueError):
    """The parts are not of one measurement."""


class PartUnreadable(ValueError):
    """The file is not a part of a measurement."""


def write(part: Mapping[str, Any], file: Path, key: SigningKey | None) -> None:
    """Write a part, signed if there is a key, compressed if the name ends in .gz."""
    content = signatures.sign(part, key)
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def _part(file: Path) -> dict[str, Any]:
    """Read a part; `signed` names its signer."""
    try:
        content = committed.content_of(file)
        part = json.loads(content)
    except (OSError, EOFError, zlib.error) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise PartUnreadable(f"cannot read {file}: {said}") from error
    except ValueError as error:
        raise PartUnreadable(f"{file} is not JSON: {error}") from error
    if not (isinstance(part, dict) and {"id", "trials", *_SAME} <= part.keys()):
        raise PartUnreadable(f"{file} is not a part of a measurement")
    broken = schemas.violation(part.get("signature"), schemas.nullable(signatures.SCHEMA))
    if broken:
        raise PartUnreadable(f"{file} has an invalid signature: {broken}")
    return {**part, "signed": committed.signature_of(content, committed.known_keys()).words}


def combined(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Read parts, which must be distinct and of one protocol and device."""
    parts = [_part(file) for file in files]
    seen: dict[str, Path] = {}
    for file, part in zip(files, parts, strict=True):
        if part["id"] in seen:
            raise PartsDiffer(f"{file} repeats {seen[part['id']]}")
        seen[part["id"]] = file
        unlike = [name for name in _SAME if part[name] != parts[0][name]]
        if unlike:
            raise PartsDiffer(f"{file} differs from {files[0]} in its {', '.join(unlike)}")
    return parts


def judged_early(
    parts: Sequence[Mapping[str, Any]], max_replicates: int | None
) -> list[dict[str, Any]]:
    """The parts as first looks of runs with up to this many replicates; None: as sealed."""
    if max_replicates is None:
        return [dict(part) for part in parts]
    early = []
    for part in parts:
        protocol = {**part["benchmark"]["protocol"], "max_replicates": max_replicates}
        if max_replicates < protocol["replicates"]:
            raise PartsDiffer(
                f"trials of {protocol['replicates']} replicates are no look of a run of "
                f"at most {max_replicates}"
            )
        early.append({**part, "benchmark": {**part["benchmark"], "protocol": protocol}})
    return early


def on_every_gpu(gpus: int, folder: Path, options: Sequence[str]) -> list[Path]:
    """Measure a part on each of the first `gpus` GPUs; returns the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"part{index}.json" for index in range(1, gpus + 1)]
    running = []
    for index, file in enumerate(files):
        command = [sys.executable, "-m", "benchmarks.precision", *options]
        command += ["--shard", f"{index + 1}/{gpus}", "--out", str(file)]
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(index)}
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))
    for process in running:
        process.wait()
    return [file for file in files if file.exists()]
