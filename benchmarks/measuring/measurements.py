"""Measure a candidate by a benchmark in the referee's process, wherever its files come from."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import outcomes
from benchmarks.measuring.progress import Progress
from benchmarks.measuring.watching import Watch


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The input of a run: the sealed benchmark, the candidate and the nonces, by issuer.

    `captured` are the benchmark's files of captured tensors by path.
    """

    benchmark: bytes
    filename: str
    source: bytes
    nonces: Mapping[str, str]
    required_isolation: Sequence[str]
    captured: Mapping[str, bytes] = field(default_factory=dict)

    def arguments(self, folder: Path, record: Path) -> list[str]:
        """Write the files into `folder`; return the arguments of the referee."""
        benchmark = folder / "benchmark.json"
        benchmark.write_bytes(self.benchmark)
        write_captured(folder, self.captured)
        # In a folder of its own, because its name could shadow a module.
        candidate = folder / "candidate" / self.filename
        candidate.parent.mkdir()
        candidate.write_bytes(self.source)
        arguments = ["run", str(benchmark), str(candidate), "--out", str(record), "--progress"]
        for issuer, nonce in self.nonces.items():
            arguments += ["--nonce", f"{issuer}={nonce}"]
        if self.required_isolation:
            arguments += ["--require-isolation", ",".join(self.required_isolation)]
        return arguments


def write_captured(folder: Path, captured: Mapping[str, bytes]) -> None:
    """Write captured tensors where the referee looks for them: beside the benchmark."""
    for name, content in captured.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


class MeasurementWatch(Watch):
    """One attempt at a run, from its files to the bytes of a record."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.progress = Progress()

    @abstractmethod
    def measurement(self) -> Measurement:
        """The measurement of a run."""

    def wait(self) -> bytes:
        """Wait for the record's bytes. Raises outcomes.Failed, LeaseLost or WorkerStopping."""
        record = self.folder / "record.json"
        status = self.supervise(self.measurement().arguments(self.folder, record))
        return outcomes.record_of(
            status=status,
            record=record,
            stderr=self.stderr,
            message=self.progress.failure,
            stated=self.progress.failure_code,
            largest_bytes=self.limits.record_bytes,
        )

    def read(self, line: bytes, *, at_s: float) -> bool:
        return self.progress.read(line, at_s=at_s)

    @property
    def ignored_lines(self) -> int:
        return self.progress.ignored_lines
