"""A measured ratio in words for somebody who has never read a benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.models import Verdict
from engagements.contracts.models import ContractVersion
from engagements.runs.estimates import Estimate
from engagements.runs.labels import RUN_WORD, VERDICT_WORD
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of
from engagements.templatetags.show import ratio


@dataclass(frozen=True)
class MeasuredWords:
    """What was measured, what that means, how sure it is, and what follows from it."""

    estimate: Estimate
    label: str
    meaning: str
    certainty: str
    consequence: str


def measured_words(estimate: Estimate) -> MeasuredWords:
    """An estimate in plain words."""
    confidence = estimate.run.run.record.summary.get("confidence")
    sure = f"With {confidence * 100:g}% confidence the" if confidence else "The"
    return MeasuredWords(
        estimate=estimate,
        label=VERDICT_WORD[estimate.verdict],
        meaning=shown(estimate),
        certainty=(
            f"{sure} true figure lies between {ratio(estimate.low)} and {ratio(estimate.high)}; "
            f"the contract asks for {ratio(estimate.target)}."
        ),
        consequence=consequence(estimate),
    )


@dataclass(frozen=True)
class RunRow:
    """One run in the list of measurements; `badge` is a state that the badge knows."""

    run: EngagementRun
    badge: str
    label: str


def run_row(run: EngagementRun) -> RunRow:
    """A run with its verdict, or how far it is."""
    record = record_of(run)
    if record is not None:
        return RunRow(run, record.verdict, VERDICT_WORD[record.verdict])
    return RunRow(run, run.run.state, RUN_WORD[run.run.state])


def shown(estimate: Estimate) -> str:
    """What a run shows about the speed, and no more than that."""
    if estimate.verdict in (Verdict.MET, Verdict.MISSED):
        return meaning(estimate.ratio)
    if estimate.verdict == Verdict.INCONCLUSIVE:
        return f"That it reaches {ratio(estimate.target)} was not shown."
    return "This run says nothing about the speed."


def meaning(value: float) -> str:
    """What a ratio does to an hour of work."""
    minutes = 60 / value
    if minutes < 10:
        told = f"{minutes:.1f} minutes"
    else:
        told = "1 minute" if round(minutes) == 1 else f"{minutes:.0f} minutes"
    if 0.995 <= value < 1.005:
        return "Work that takes an hour with what one gets off the shelf takes an hour with ours."
    return f"Work that takes an hour with what one gets off the shelf takes {told} with ours."


def consequence(estimate: Estimate) -> str:
    """What the verdict means under the contract of its run."""
    contract = estimate.run.contract_version
    if estimate.verdict == Verdict.MET:
        return "Even the low end reaches the target, so the target is met."
    if estimate.verdict == Verdict.MISSED:
        return "Even the high end stays below the target, so the target is missed."
    if estimate.verdict == Verdict.INCONCLUSIVE:
        if contract and contract.inconclusive == ContractVersion.Inconclusive.REPEAT:
            return (
                "The target lies inside that range, so this run decides nothing. "
                "It is measured again inside the time-box."
            )
        return (
            "The target lies inside that range: it was not shown. Under your contract that "
            "counts as missed, the doubt is ours to bear."
        )
    if estimate.verdict == Verdict.DISQUALIFIED:
        return "The measurement caught the kernel breaking the rules. This run does not count."
    return "Something about this run was not as agreed, so it does not count."
