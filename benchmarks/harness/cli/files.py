"""Read and write the files that commands name."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.harness.failures import SetupError
from benchmarks.records import records


def require_room_for(out: Path) -> None:
    """Raise SetupError, before measuring, if the record could not be written."""
    if not out.parent.is_dir():
        raise SetupError(f"folder {out.parent} does not exist")
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise SetupError(f"cannot write {out}")


def keep(out: Path, content: bytes) -> None:
    """Write a file atomically."""
    unfinished = out.with_name(out.name + ".part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(out)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise SetupError(f"cannot write {out}: {error.strerror}") from error


def content(path: Path) -> bytes:
    """The bytes of a file, up to one over the limit."""
    try:
        return records.content_of(path)
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from error


def keep_all(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write the files of a new folder by path."""
    try:
        for name, each in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(each if isinstance(each, bytes) else each.encode())
    except OSError as error:
        raise SetupError(f"cannot write {folder}: {error.strerror}") from error


def captured(document: Mapping[str, Any], beside: Path) -> dict[str, bytes]:
    """The files of captured tensors that a document names, from the folder `beside` it."""
    found = {}
    for name, held in document.get("captured", {}).items():
        path = beside / name
        try:
            with path.open("rb") as opened:
                # Longer than sealed is as wrong as shorter.
                found[name] = opened.read(held["bytes"] + 1)
        except OSError as error:
            raise SetupError(
                f"cannot read the captured tensors {path}: {error.strerror}; name their folder by "
                "--tensors"
            ) from error
    return found
