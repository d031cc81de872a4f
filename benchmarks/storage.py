"""Where the bytes of records are kept: under their own digest, in the storage "records"."""

import os
from pathlib import Path

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from benchmarks.errors import RecordUnreadable
from benchmarks.models import Record


def store(*, digest: str, content: bytes) -> str:
    """Keep a record's canonical bytes; the name to find them by.

    Kept again, the same bytes are the same file. A file that never gets its row, because the
    worker died in between, is harmless: the next attempt's record has a name of its own.
    """
    place = _place()
    hexadecimal = digest.removeprefix("sha256:")
    name = f"records/{hexadecimal[:2]}/{hexadecimal}.json"
    if place.exists(name) and _read(place, name) == content:
        return name
    # A half-written file of a killed worker keeps its name; this one gets another.
    stored_as = place.save(name, ContentFile(content))
    make_durable(place, stored_as)
    return stored_as


def load(record: Record) -> bytes:
    """The bytes of a stored record, unchecked. RecordUnreadable when they are gone."""
    name = record.file.name or ""
    try:
        return _read(_place(), name)
    except OSError as error:
        raise RecordUnreadable(f"The record {name} cannot be read from storage.") from error


def _place() -> Storage:
    return storages["records"]


def _read(place: Storage, name: str) -> bytes:
    with place.open(name, "rb") as opened:
        return bytes(opened.read())


def path_of(place: Storage, name: str) -> Path | None:
    """Where a stored file lies; None where the storage is no folder."""
    try:
        return Path(place.path(name))
    except NotImplementedError:
        # How a storage says so, by Django's own contract for Storage.path().
        return None


def make_durable(place: Storage, name: str) -> None:
    """Have a stored file survive a power cut, where the storage is a folder."""
    path = path_of(place, name)
    if path is None:
        return
    # The row is flushed to disk at commit, so what it names must be there before.
    for part, flags in ((path, os.O_RDONLY), (path.parent, os.O_DIRECTORY)):
        handle = os.open(part, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
