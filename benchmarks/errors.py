"""Errors of benchmarks: a code for programs, a message for people."""


class BenchmarkError(Exception):
    """A request that cannot be carried out.

    `message` is for people: what failed and what to do. `code` is stable, such as
    "solution.empty".
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class StaleAttempt(BenchmarkError):
    """Another attempt has claimed this run, or the run is concluded: nothing was changed."""


class RecordRejected(BenchmarkError):
    """The record of a run failed validation; the run has failed with this message."""


class RecordUnreadable(BenchmarkError):
    """A stored record is missing or damaged."""
