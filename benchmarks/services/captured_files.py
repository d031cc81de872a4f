"""Store and find the files of captured tensors that benchmark documents name by digest."""

from collections.abc import Mapping
from typing import Any

from django.core.files.base import ContentFile

from benchmarks.errors import BenchmarkError
from benchmarks.models import CapturedFile, place_of_records
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.storage import make_durable


def store(*, files: Mapping[str, bytes]) -> None:
    """Store files under their digests; the same bytes are the same row."""
    place = place_of_records()
    for content in files.values():
        digest = digest_of_bytes(content)
        if CapturedFile.objects.filter(digest=digest).exists():
            continue
        hexadecimal = digest.removeprefix("sha256:")
        # A file without a row is harmless.
        name = place.save(f"captured/{hexadecimal[:2]}/{hexadecimal}", ContentFile(content))
        make_durable(place, name)
        CapturedFile.objects.get_or_create(
            digest=digest, defaults={"file": name, "size_bytes": len(content)}
        )


def of(document: Mapping[str, Any]) -> dict[str, bytes]:
    """The captured files that a document names, by path. Raises BenchmarkError."""
    return {name: content(held["digest"]) for name, held in document.get("captured", {}).items()}


def content(digest: str) -> bytes:
    """The stored file of that digest. Raises BenchmarkError."""
    row = CapturedFile.objects.filter(digest=digest).first()
    if row is None:
        raise BenchmarkError(
            "This site does not have the captured tensors of this benchmark. Upload its folder "
            "with them on the page Benchmark.",
            code="captured.missing",
        )
    try:
        with place_of_records().open(row.file.name or "", "rb") as opened:
            found = bytes(opened.read())
    except OSError as error:
        raise BenchmarkError(
            "The captured tensors are missing from storage. Restore the backup.",
            code="captured.file_missing",
        ) from error
    if digest_of_bytes(found) != digest:
        raise BenchmarkError(
            "The captured tensors were changed in storage. Restore the backup.",
            code="captured.file_changed",
        )
    return found
