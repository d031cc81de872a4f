"""Labels of run states and phases in the customer's portal."""

from __future__ import annotations

from benchmarks.models import Run

RUN_LABELS: dict[str, str] = {
    Run.State.QUEUED: "Queued",
    Run.State.RUNNING: "Measuring",
    Run.State.FINISHED: "Measured",
    Run.State.FAILED: "Failed",
    "cancelled": "Cancelled",
}


def state_of(run: Run) -> str:
    """The state of a run, of which `RUN_LABELS` has the label: its own, or "cancelled"."""
    return "cancelled" if run.cancelled_by else run.state


PHASE_LABELS: dict[str, str] = {
    "starting": "Starting",
    "setup": "Setting up baseline and candidate",
    "measuring": "Timing baseline and candidate in turn",
    "checking": "Checking results against the reference",
    "finishing": "Computing the result",
}
