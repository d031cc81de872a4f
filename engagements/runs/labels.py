"""Labels of run states and phases in the customer's portal."""

from __future__ import annotations

from benchmarks.models import Run

RUN_LABELS: dict[str, str] = {
    Run.State.QUEUED: "Queued",
    Run.State.RUNNING: "Measuring",
    Run.State.FINISHED: "Measured",
    Run.State.FAILED: "Failed",
}


PHASE_LABELS: dict[str, str] = {
    "starting": "Starting",
    "setup": "Setting up baseline and candidate",
    "measuring": "Timing baseline and candidate in turn",
    "checking": "Checking results against the reference",
    "finishing": "Computing the result",
}
