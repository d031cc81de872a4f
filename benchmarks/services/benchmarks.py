"""Seal benchmarks."""

from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.models import Benchmark
from benchmarks.records import canonical, documents


def seal(*, document: dict[str, Any]) -> Benchmark:
    """Store a benchmark document under its digest; the same document is the same row.

    Raises BenchmarkError for an invalid document.
    """
    try:
        documents.check(document)
        sealed = canonical.canonical(document)
    except ValueError as error:
        raise BenchmarkError(f"Invalid benchmark: {error}.", code="benchmark.invalid") from error
    benchmark, _ = Benchmark.objects.get_or_create(
        digest=canonical.digest_of_bytes(sealed),
        defaults={
            "name": _shortened(document["name"]),
            "operator": document["operator"],
            "canonical": sealed,
        },
    )
    return benchmark


def _shortened(name: str) -> str:
    longest = Benchmark._meta.get_field("name").max_length or len(name)
    return name if len(name) <= longest else name[: longest - 1] + "…"
