"""Why a measurement ends early: unusable input, a failed side or device, a finding."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.records.failure_codes import FailureCode
from benchmarks.records.findings import FindingKind

Role = Literal["baseline", "candidate"]
ROLES: tuple[Role, Role] = ("baseline", "candidate")


class SetupError(ValueError):
    """The benchmark, the candidate or this machine cannot be used; the text says why."""

    code = FailureCode.BENCHMARK


class SideFailed(RuntimeError):
    """A side raised, hung, died or broke the channel; there is no record.

    The message is one line: who, when, what, and the last lines of output. `log` is a compiler's
    output, or the side's own with its traceback. `code` blames the candidate only for its own end.
    """

    def __init__(
        self,
        message: str,
        *,
        log: str | None = None,
        code: FailureCode = FailureCode.BENCHMARK,
    ) -> None:
        super().__init__(message)
        self.log = log
        self.code = code


class SideRaised(SideFailed):
    """A side raised an exception and still answers; `raised` says which, in one line."""

    def __init__(
        self, message: str, *, log: str | None = None, code: FailureCode, raised: str
    ) -> None:
        super().__init__(message, log=log, code=code)
        self.raised = raised


class ReferenceFailed(SideFailed):
    """A benchmark's own reference raised, hung, or answers differently for equal inputs."""


class DeviceFailed(RuntimeError):
    """The device failed the referee: out of memory, or broken."""

    code = FailureCode.INTERRUPTED


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A rule that a side broke; `replicate` counts from 0."""

    kind: FindingKind
    side: Role
    replicate: int
    workload: str
    message: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data for the record."""
        return asdict(self)


class Caught(Exception):
    """A side broke a rule; the measurement stops and the record contains the finding.

    `output` is the end of what the candidate printed, where it is the one.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.output: str | None = None
