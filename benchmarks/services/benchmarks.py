"""Sealing benchmarks."""

from typing import Any

from benchmarks.errors import Refused
from benchmarks.harness.records import canonical, documents
from benchmarks.models import Benchmark


def seal(*, document: dict[str, Any]) -> Benchmark:
    """Store a benchmark document under its digest; the same document is the same row.

    Refused when the document is not a usable benchmark.
    """
    try:
        documents.check(document)
        sealed = canonical.canonical(document)
    except ValueError as error:
        raise Refused(f"This benchmark cannot be sealed: {error}.") from error
    benchmark, _ = Benchmark.objects.get_or_create(
        digest=canonical.digest_of_bytes(sealed),
        defaults={
            "name": _short(document["name"]),
            "operator": document["operator"],
            "canonical": sealed,
        },
    )
    return benchmark


def _short(name: str) -> str:
    longest = Benchmark._meta.get_field("name").max_length or len(name)
    return name if len(name) <= longest else name[: longest - 1] + "…"
