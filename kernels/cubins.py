"""Machine code of CUDA C++ kept between processes: each process of a run prepares the same kernels.

Kept where tuned configurations are, for a measured side in its own scratch, so that no side sees
another's. A file is named by the digest of all that its content follows from.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kernels import tuning


def place(parts: Sequence[object]) -> Path:
    """The file of the code that follows from `parts`: source, options, architecture, compiler."""
    name = hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()
    return tuning.cache_folder() / f"{name[:32]}.cubin"


def read(file: Path) -> bytes | None:
    """What is kept there; None where nothing is, or nothing may be kept here."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def keep(file: Path, code: bytes) -> None:
    """Keep it for the next process, whole or not at all; nothing happens where that cannot be."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # What cannot be finished goes with its room: no halves fill a disk that is full.
        with tempfile.TemporaryDirectory(dir=file.parent) as room:
            half = Path(room) / file.name
            half.write_bytes(code)
            os.replace(half, file)
