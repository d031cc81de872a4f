"""How a measurement ends early: unusable input, a side that fails, or one that was caught."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.records.findings import FindingKind

Role = Literal["baseline", "candidate"]
ROLES: tuple[Role, Role] = ("baseline", "candidate")


class SetupError(ValueError):
    """The benchmark, the candidate or this machine cannot be used; the text says why."""


class SideFailed(RuntimeError):
    """A side raised, hung, died or broke the channel; no record follows.

    The text is one line that a person can act on: who, when, what, and its last words. `log`
    is what a compiler had to say, where one refused the candidate.
    """

    def __init__(self, message: str, *, log: str | None = None) -> None:
        super().__init__(message)
        self.log = log


class DeviceFailed(RuntimeError):
    """The device refused the referee itself: out of memory, or broken. One line says which."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that a side was caught at; `replicate` counts from 0."""

    kind: FindingKind
    side: Role
    replicate: int
    workload: str
    message: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as the record keeps it."""
        return asdict(self)


class Caught(Exception):
    """A side was caught; the measurement stops and the record says so."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding
