"""Read an uploaded file in a process with resource limits, without storing it."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Final

from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile

from engagements.evidence.readers import EvidenceError, confined
from engagements.pitch.rules import Read

LARGEST_BYTES: Final = 64 * 2**20
# For all web processes together.
AT_ONCE: Final = 2
LONGEST_S: Final = 20
MEMORY_BYTES: Final = 3 * 2**30
DISK_BYTES: Final = 2**30


def read(file: UploadedFile) -> Read:
    """Return the facts of the file. EvidenceError when it is unreadable or exceeds a limit."""
    if (file.size or 0) > LARGEST_BYTES:
        raise EvidenceError(
            f"The file is larger than {LARGEST_BYTES // 2**20} MiB; compress it",
            code="evidence.file_too_large",
        )
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    name = Path(file.name or "").name or "the file"
    if isinstance(file, TemporaryUploadedFile):
        return _read(Path(file.temporary_file_path()), name, digest.hexdigest())
    with tempfile.NamedTemporaryFile(prefix="twofold-pitch-") as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        return _read(Path(copy.name), name, digest.hexdigest())


def _read(path: Path, name: str, digest: str) -> Read:
    facts = confined.read(
        path, name, wall_s=LONGEST_S, memory_bytes=MEMORY_BYTES, disk_bytes=DISK_BYTES
    )
    return Read(name=name, digest=f"sha256:{digest}", facts=facts)
