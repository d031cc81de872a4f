"""TODO docstring."""

from __future__ import annotations

from benchmarks.models import Run, Verdict

VERDICT_WORD: dict[str, str] = {
    Verdict.MET: "Target met",
    Verdict.MISSED: "Target missed",
    Verdict.INCONCLUSIVE: "Not decided",
    Verdict.INVALID: "Does not count",
    Verdict.DISQUALIFIED: "Disqualified",
}


RUN_WORD: dict[str, str] = {
    Run.State.QUEUED: "Waiting its turn",
    Run.State.RUNNING: "Being measured",
    Run.State.FINISHED: "Measured",
    Run.State.FAILED: "Could not be measured",
}


PHASE_WORD: dict[str, str] = {
    "starting": "Starting the measuring machine",
    "setup": "Getting both sides ready",
    "measuring": "Timing both sides in turns",
    "checking": "Checking every result against the reference",
    "finishing": "Working out the result",
}
