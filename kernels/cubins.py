"""Cache compiled CUDA C++ between processes: every process of a run prepares the same kernels.

Files are in the folder of tuned configurations, for a measured side in its own scratch, so that
sides cannot see each other's. A file's name is the digest of everything that decides its content.
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


def path_for(parts: Sequence[object]) -> Path:
    """The file of the code made from `parts`: source, options, architecture, compiler."""
    name = hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()
    return tuning.cache_folder() / f"{name[:32]}.cubin"


def read(file: Path) -> bytes | None:
    """The cached code, or None."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def write(file: Path, code: bytes) -> None:
    """Cache the code atomically; do nothing if the folder cannot be written."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # An unfinished file is removed with its folder, even if the disk is full.
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:
            unfinished = Path(folder) / file.name
            unfinished.write_bytes(code)
            os.replace(unfinished, file)
