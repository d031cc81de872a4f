"""Evidence as a path: where it is kept, or a copy of it, and nothing of whoever asks is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage

from benchmarks.models import place_of_records
from engagements.evidence import services as evidence
from engagements.evidence.models import Evidence
from tests.errors import unreadable

CONTENT = b"kept as it came"


class Bucket(Storage):
    """A storage to which its files have no paths."""

    def __init__(self, location: str) -> None:
        self._within = FileSystemStorage(location)

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        return self._within.open(name, mode)

    def _save(self, name: str, content: File[bytes]) -> str:
        return self._within.save(name, content)

    def exists(self, name: str) -> bool:
        return self._within.exists(name)

    def delete(self, name: str) -> None:
        self._within.delete(name)


@pytest.fixture(params=[FileSystemStorage, Bucket])
def row(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Evidence:
    backend = f"{request.param.__module__}.{request.param.__name__}"
    place = {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = settings.STORAGES | {"records": place}
    return Evidence(file=place_of_records().save("evidence/kept", ContentFile(CONTENT)))


def test_a_file_has_a_path_wherever_it_is_kept(row: Evidence) -> None:
    with evidence.on_disk(row) as path:
        assert path.read_bytes() == CONTENT


# The two that asking a storage for a file may raise, and that are taken for its answer there.
@pytest.mark.parametrize("error", [NotImplementedError, OSError])
def test_errors_while_reading_a_file_keep_their_message(
    row: Evidence, error: type[Exception]
) -> None:
    with pytest.raises(error, match="of the reader"), evidence.on_disk(row):
        raise error("of the reader")


def test_a_missing_file_is_an_evidence_error(row: Evidence) -> None:
    place_of_records().delete(row.file.name or "")
    with unreadable("evidence.file_missing"), evidence.on_disk(row):
        pytest.fail("a path was given to a file that is gone")
