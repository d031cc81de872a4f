"""Turn the end of a measuring process into a record or a reason for people."""

from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.records.failure_codes import FailureCode
from benchmarks.text import last_line, readable

UNUSABLE = 2
NOT_MEASURABLE = 3
KILLED = 128 + 9
SIGNALS_FROM = 128


class Failed(BenchmarkError):
    """The run ends without a record; `failure` is the cause."""

    def __init__(
        self, message: str, *, code: str, failure: FailureCode = FailureCode.INTERRUPTED
    ) -> None:
        super().__init__(message, code=code)
        self.failure = failure


def record_of(
    *,
    status: int,
    record: Path,
    stderr: bytes,
    message: str,
    stated: FailureCode | None,
    largest_bytes: int,
) -> bytes:
    """The bytes of the record file; raises Failed when there is none to use.

    `status` is the exit status (128+N for signal N), `message` and `stated` are those of
    the `failed` event.
    """
    error = last_line(stderr.decode("utf-8", "replace"))
    if status == 0:
        return _read(record, error, largest_bytes)
    if status == UNUSABLE:
        raise Failed(
            f"The benchmark or the candidate cannot be used: {error or message}",
            code="run.unusable",
            failure=FailureCode.BENCHMARK,
        )
    if status == NOT_MEASURABLE:
        raise Failed(
            message or error or "The candidate could not be measured.",
            code="run.not_measurable",
            failure=stated or FailureCode.INTERRUPTED,
        )
    if status == KILLED:
        raise Failed(
            "The measuring process was killed (signal 9), most likely for lack of memory. Check "
            "the machine's memory and the candidate's use of it, then request the run again.",
            code="run.killed",
        )
    how = f"signal {status - SIGNALS_FROM}" if status > SIGNALS_FROM else f"status {status}"
    raise Failed(
        f"The measuring process ended with {how} and no record. {error}".strip(),
        code="run.no_record",
    )


def too_long(limit_s: float) -> Failed:
    """The run exceeded its time limit."""
    return Failed(
        f"The run exceeded its limit of {limit_s:.0f} s. Check whether the candidate hangs, or "
        "measure fewer replicates and rounds.",
        code="run.too_long",
    )


def too_quiet(limit_s: float) -> Failed:
    """The run reported no progress for too long."""
    return Failed(
        f"The run reported no progress for {limit_s:.0f} s. Check whether the candidate hangs "
        "during setup or in a call.",
        code="run.too_quiet",
    )


def too_much_output(limit_bytes: int) -> Failed:
    """The run exceeded its output limit."""
    return Failed(
        f"The run printed more than {limit_bytes} bytes. Remove the printing from the candidate.",
        code="run.too_much_output",
    )


def not_stored(error: OSError) -> Failed:
    """The run was measured, but storage did not accept its record."""
    return Failed(
        "The run was measured, but its record could not be stored: "
        f"{error.strerror or type(error).__name__}. Free some space in the record storage, then "
        "request the run again.",
        code="run.not_stored",
    )


def _read(record: Path, error_text: str, largest: int) -> bytes:
    try:
        with record.open("rb") as opened:
            content = opened.read(largest + 1)
    except OSError as error:
        raise Failed(
            f"The measuring process wrote no record. {readable(error_text)}".strip(),
            code="run.no_record",
        ) from error
    if len(content) > largest:
        raise Failed(
            f"The record is larger than the limit of {largest:,} bytes.", code="record.too_large"
        )
    return content
