"""The error of a benchmark folder."""

from __future__ import annotations

from benchmarks.records.documents import InvalidBenchmark

DESCRIPTION = "benchmark.toml"


class FolderError(InvalidBenchmark):
    """A folder that cannot be a benchmark: the file, the field and the remedy.

    `code` is "folder." and one of: archive, missing, file, size, encoding, syntax, field, name,
    function, baseline, weights, axes, tensors, captured, log.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = f"folder.{code}"
