"""Store the bytes of records under their digest, in the storage "records"."""

import os
from pathlib import Path

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from benchmarks.errors import RecordUnreadable
from benchmarks.models import Record


def store(*, digest: str, content: bytes) -> str:
    """Store a record's canonical bytes and return their name; the same bytes are the same file.

    A file without a row, left by a worker that died in between, does no harm.
    """
    place = _place()
    hexadecimal = digest.removeprefix("sha256:")
    name = f"records/{hexadecimal[:2]}/{hexadecimal}.json"
    if place.exists(name) and _read(place, name) == content:
        return name
    # If a killed worker left a partial file of this name, storage picks another name.
    stored_as = place.save(name, ContentFile(content))
    make_durable(place, stored_as)
    return stored_as


def load(record: Record) -> bytes:
    """The bytes of a stored record, not verified. Raises RecordUnreadable."""
    name = record.file.name or ""
    try:
        return _read(_place(), name)
    except OSError as error:
        raise RecordUnreadable(
            f"The record {name} cannot be read from storage.", code="record.unreadable"
        ) from error


def _place() -> Storage:
    return storages["records"]


def _read(place: Storage, name: str) -> bytes:
    with place.open(name, "rb") as opened:
        return bytes(opened.read())


def path_of(place: Storage, name: str) -> Path | None:
    """The path of a stored file; None where the storage is not a folder."""
    try:
        return Path(place.path(name))
    except NotImplementedError:
        # Storage.path() raises this for remote storage.
        return None


def make_durable(place: Storage, name: str) -> None:
    """Flush a stored file to disk, where the storage is a folder."""
    path = path_of(place, name)
    if path is None:
        return
    # PostgreSQL flushes the row at commit, so its file must be on disk before.
    for part, flags in ((path, os.O_RDONLY), (path.parent, os.O_DIRECTORY)):
        handle = os.open(part, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
