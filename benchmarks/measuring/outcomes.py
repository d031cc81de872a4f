"""What the end of the measuring process means, in words that a person can act on."""

from pathlib import Path

from benchmarks.limits import limits
from benchmarks.text import last_line, readable

UNUSABLE = 2
NOT_MEASURABLE = 3
KILLED = 128 + 9
SIGNALS_FROM = 128


class Failed(Exception):
    """The run cannot be concluded with a record. `str()` is the reason for a person."""


def record_of(*, status: int, record: Path, stderr: bytes, said: str) -> bytes:
    """The bytes that the harness left; Failed, with the reason, when it left none to use.

    `status` is its exit status (128+N for signal N), `said` the message of its `failed` event.
    """
    words = last_line(stderr.decode("utf-8", "replace"))
    if status == 0:
        return _read(record, words)
    if status == UNUSABLE:
        raise Failed(f"The benchmark or the candidate cannot be used: {words or said}")
    if status == NOT_MEASURABLE:
        raise Failed(said or words or "The candidate could not be measured.")
    if status == KILLED:
        raise Failed(
            "The measuring process was killed (signal 9), as the system does when memory runs "
            "out. Look at the machine's memory and at how much the candidate takes, then "
            "request the run again."
        )
    how = f"signal {status - SIGNALS_FROM}" if status > SIGNALS_FROM else f"status {status}"
    raise Failed(f"The measuring process ended with {how} and no record. {words}".strip())


def too_long(limit_s: float) -> Failed:
    """The run took longer than any run may."""
    return Failed(
        f"The run was ended after {limit_s:.0f} s without a result. Look for a candidate that "
        "hangs, or measure fewer replicates and rounds."
    )


def too_quiet(limit_s: float) -> Failed:
    """Nothing was heard for too long."""
    return Failed(
        f"The run was ended because nothing was heard of it for {limit_s:.0f} s. Look for a "
        "candidate that hangs while it is set up or called."
    )


def too_talkative(limit_bytes: int) -> Failed:
    """More was printed than anybody will read."""
    return Failed(
        f"The run was ended because it printed more than {limit_bytes} bytes. Take the printing "
        "out of the candidate."
    )


def not_stored(error: OSError) -> Failed:
    """The run was measured, and its record could not be kept."""
    return Failed(
        "The run was measured, but its record could not be stored: "
        f"{error.strerror or type(error).__name__}. Make room where records are kept, then "
        "request the run again."
    )


def _read(record: Path, words: str) -> bytes:
    largest = limits().record_bytes
    try:
        with record.open("rb") as opened:
            content = opened.read(largest + 1)
    except OSError as error:
        raise Failed(
            f"The measuring process ended without writing a record. {readable(words)}".strip()
        ) from error
    if len(content) > largest:
        raise Failed(f"The record is larger than {largest} bytes and was not read.")
    return content
