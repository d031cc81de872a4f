"""Explain a measured ratio to readers who do not know benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.models import Verdict
from engagements.contracts.models import ContractVersion
from engagements.runs.estimates import Estimate
from engagements.runs.labels import RUN_LABELS, VERDICT_LABELS
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of
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
    confidence = estimate.run.run.record.summary.get("confidence")
    subject = f"With {confidence * 100:g}% confidence, the" if confidence else "The"
    return MeasuredWords(
        estimate=estimate,
        label=VERDICT_LABELS[estimate.verdict],
        meaning=shown(estimate),
        certainty=(
            f"{subject} true ratio lies between {ratio(estimate.low)} and {ratio(estimate.high)}; "
            f"the contract requires {ratio(estimate.target)}."
        ),
        consequence=consequence(estimate),
    )


@dataclass(frozen=True)
class RunRow:
    """A run in the list of measurements. `badge` is the state that sets the badge's colour."""

    run: EngagementRun
    badge: str
    label: str


def run_row(run: EngagementRun) -> RunRow:
    """Return a run with its verdict, or its state before."""
    record = record_of(run)
    if record is not None:
        return RunRow(run, record.verdict, VERDICT_LABELS[record.verdict])
    return RunRow(run, run.run.state, RUN_LABELS[run.run.state])


def shown(estimate: Estimate) -> str:
    """Say what a run shows about the speed."""
    if estimate.verdict in (Verdict.MET, Verdict.MISSED):
        return meaning(estimate.ratio)
    if estimate.verdict == Verdict.INCONCLUSIVE:
        return (
            f"Inconclusive: {ratio(estimate.target)} lies inside "
            f"{ratio(estimate.low)} to {ratio(estimate.high)}."
        )
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


def consequence(estimate: Estimate) -> str:
    """Say what the verdict means under the contract of its run."""
    contract = estimate.run.contract_version
    if estimate.verdict == Verdict.MET:
        return "Even the low end of this range reaches the target, so the target is met."
    if estimate.verdict == Verdict.MISSED:
        return "Even the high end of this range is below the target, so the target is missed."
    if estimate.verdict == Verdict.INCONCLUSIVE:
        if contract and contract.inconclusive == ContractVersion.Inconclusive.REPEAT:
            return (
                "The target lies inside this range, so this run is inconclusive. It is repeated "
                "inside the time-box."
            )
        return (
            "The target lies inside this range. Under your contract, an inconclusive run counts "
            "as missed."
        )
    if estimate.verdict == Verdict.DISQUALIFIED:
        return "The kernel broke the rules of the benchmark, so this run does not count."
    return "This run did not follow the agreed protocol, so it does not count."
