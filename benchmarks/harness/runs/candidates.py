"""Read a candidate: its file, name and source."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.failures import SetupError
from benchmarks.records.canonical import digest_of_bytes
from kernels import solutions
from kernels.solutions import SUFFIXES, SolutionError

_MAX_SOURCE_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A candidate's source, read once: the recorded source is the one that runs."""

    name: str
    source: str
    filename: str = "candidate.py"

    @property
    def source_digest(self) -> str:
        return digest_of_bytes(self.source.encode())


def read(argument: str) -> Candidate:
    """Read a .py or .cu file, or `operator/name` of the catalogue. Raises SetupError."""
    path, name = _located(argument)
    try:
        with path.open("rb") as opened:
            content = opened.read(_MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise SetupError(f"cannot read candidate {name}: {error.strerror}") from error
    if len(content) > _MAX_SOURCE_BYTES:
        raise SetupError(f"candidate {name} is larger than {_MAX_SOURCE_BYTES:,} bytes")
    try:
        return Candidate(name=name, filename=path.name, source=content.decode())
    except UnicodeDecodeError as error:
        raise SetupError(f"candidate {name} is not UTF-8 text: {error}") from error


def _located(argument: str) -> tuple[Path, str]:
    try:
        path = solutions.resolve(argument)
    except SolutionError as error:
        raise SetupError(str(error)) from error
    return path, path.stem if argument.endswith(SUFFIXES) else argument
