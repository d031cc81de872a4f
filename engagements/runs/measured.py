"""Explain a measured ratio to readers who do not know benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.models import Verdict
from engagements.runs.estimates import Estimate
from engagements.runs.explanations import explain, headline_of
from engagements.runs.labels import RUN_LABELS, state_of
from engagements.runs.models import EngagementRun
from engagements.runs.pairs import Decision
from engagements.runs.summary import record_of, verdict_of
from engagements.templatetags.show import ratio


@dataclass(frozen=True)
class MeasuredWords:
    """An estimate in plain words: its meaning, certainty and consequence."""

    estimate: Estimate
    label: str
    meaning: str
    certainty: str
    consequence: str


def measured_words(estimate: Estimate) -> MeasuredWords:
    """Explain an estimate."""
    explained = explain(estimate.run, estimate.run.run.record.summary)
    # That of the record; a repeat has an interval of its own.
    confidence = "" if estimate.run.repeat_verdict else explained.confidence
    return MeasuredWords(
        estimate=estimate,
        label=explained.headline,
        meaning=shown(estimate),
        certainty=(
            f"The ratio lies between {ratio(estimate.low)} and {ratio(estimate.high)}; "
            f"the contract requires {ratio(estimate.target)}. {confidence}".strip()
        ),
        consequence=f"{explained.reason} {explained.consequence}",
    )


@dataclass(frozen=True)
class RunRow:
    """A run in the list of measurements. `badge` is the state that sets the badge's colour."""

    run: EngagementRun
    badge: str
    label: str

    @property
    def place(self) -> str:
        """Its number among the attempts; empty where it does not count."""
        contract = self.run.contract_version
        if self.run.attempt is None or contract is None:
            return ""
        return f"Attempt {self.run.attempt} of {contract.acceptance_runs}"


def run_row(run: EngagementRun) -> RunRow:
    """Return a run with its verdict, or its state before."""
    record = record_of(run)
    if record is not None:
        return RunRow(run, verdict_of(run) or "running", headline_of(run, record.verdict))
    state = state_of(run.run)
    label = headline_of(run, run.decision) if run.attempt is not None else RUN_LABELS[state]
    return RunRow(run, state, label)


def shown(estimate: Estimate) -> str:
    """The speed-up that a run shows."""
    if estimate.verdict in (Verdict.MET, Verdict.MISSED):
        if estimate.low < 1 < estimate.high:
            return "The measurement does not show which of both sides is faster."
        return meaning(estimate.ratio)
    if estimate.verdict == Verdict.INCONCLUSIVE:
        return (
            f"Measured {ratio(estimate.low)} to {ratio(estimate.high)}, for a target of "
            f"{ratio(estimate.target)}."
        )
    if estimate.verdict == Decision.DISAGREED:
        return "The measurements of both parties disagree, so this run shows no speed-up."
    if not estimate.verdict:
        return "The other party’s measurement has not ended."
    return "This run does not measure the speed."


def meaning(value: float) -> str:
    """Say how long an hour of work takes at this ratio."""
    minutes = 60 / value
    if minutes < 10:
        duration = f"{minutes:.1f} minutes"
    else:
        duration = "1 minute" if round(minutes) == 1 else f"{minutes:.0f} minutes"
    if 0.995 <= value < 1.005:
        return "One hour of work with the baseline takes one hour with our kernel."
    return f"One hour of work with the baseline takes {duration} with our kernel."
