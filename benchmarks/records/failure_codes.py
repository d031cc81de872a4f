"""Why a run has no record, as a code. No Django: the referee sets it, the site stores it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class FailureCode(StrEnum):
    """The cause of a run's failure. The referee states the first five, the site the others."""

    CANDIDATE_CRASHED = "candidate_crashed"
    CANDIDATE_OUT_OF_TIME = "candidate_out_of_time"
    CANDIDATE_OUT_OF_MEMORY = "candidate_out_of_memory"
    INTERRUPTED = "interrupted"
    BENCHMARK = "benchmark_at_fault"
    RECORD_REFUSED = "record_refused"
    UNCLAIMED = "unclaimed"
    CANCELLED = "cancelled"


# The candidate's own process ended the run.
OF_CANDIDATE = frozenset(
    (
        FailureCode.CANDIDATE_CRASHED,
        FailureCode.CANDIDATE_OUT_OF_TIME,
        FailureCode.CANDIDATE_OUT_OF_MEMORY,
    )
)
OF_REFEREE = (*sorted(OF_CANDIDATE), FailureCode.INTERRUPTED, FailureCode.BENCHMARK)
LABELS: Mapping[str, str] = {
    FailureCode.CANDIDATE_CRASHED: "The candidate crashed",
    FailureCode.CANDIDATE_OUT_OF_TIME: "The candidate exceeded its time limit",
    FailureCode.CANDIDATE_OUT_OF_MEMORY: "The candidate ran out of memory",
    FailureCode.INTERRUPTED: "The referee or its machine was interrupted",
    FailureCode.BENCHMARK: "The benchmark, its baseline or the machine is at fault",
    FailureCode.RECORD_REFUSED: "The record was refused",
    FailureCode.UNCLAIMED: "No runner claimed the run",
    FailureCode.CANCELLED: "Cancelled",
}


def stated(value: object) -> FailureCode | None:
    """The code that a referee states, which is untrusted; None for anything else."""
    known = [code for code in OF_REFEREE if code == value]
    return known[0] if known else None
