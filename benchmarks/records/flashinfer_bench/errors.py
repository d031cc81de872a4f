"""The error of a conversion."""

from __future__ import annotations

from benchmarks.records.documents import InvalidBenchmark


class ImportRefused(InvalidBenchmark):
    """A Definition that cannot be converted: what it lacks and the remedy.

    `code` is "import." and one of: unreadable, field, dtype, sampling, reference, axes, constraint,
    workloads, scalar, below, option.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = f"import.{code}"
