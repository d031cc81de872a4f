"""One explanation of a measured run, which page, portal and report show alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.models import Run, Verdict
from benchmarks.records.failure_codes import LABELS, OF_CANDIDATE
from benchmarks.verdict.explanations import confidence, details
from benchmarks.verdict.explanations import reason as reason_of
from engagements.runs import outcomes
from engagements.runs.attempts import measured as measured_by_both
from engagements.runs.attempts import outcome_of_run
from engagements.runs.models import EngagementRun
from engagements.runs.pairs import Decision
from engagements.runs.summary import awaits_other


class Explanation(NamedTuple):
    """A run in words: the `headline`, the `reason` of its verdict with the referee's `details`, the
    `confidence` of its interval (empty without one) and its `consequence`. `tone` is the panel's
    colour."""

    headline: str
    reason: str
    details: list[str]
    confidence: str
    consequence: str
    tone: str


_TRIAL_HEADLINES: Final = {
    Verdict.MET: "Target met",
    Verdict.MISSED: "Target missed",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.INVALID: "Invalid",
    Verdict.DISQUALIFIED: "Disqualified",
    Decision.DISAGREED: "The measurements disagree",
    Decision.CRASHED: "Crashed",
    Decision.FAILED: "Failed",
}
_TONES: Final = {
    Verdict.MET: "good",
    Verdict.MISSED: "bad",
    Verdict.INCONCLUSIVE: "doubt",
    Verdict.INVALID: "doubt",
    Verdict.DISQUALIFIED: "bad",
    Decision.DISAGREED: "doubt",
    Decision.CRASHED: "bad",
    Decision.FAILED: "doubt",
}
_CONSEQUENCES: Final[dict[str, str]] = {
    EngagementRun.Purpose.TRIAL: "This was a trial run, without effect on a contract.",
    EngagementRun.Purpose.COUNTERPART: "This measurement by the customer’s runner counts together "
    "with the consultancy’s, as one acceptance run.",
}
AWAITS_OTHER: Final = "Waits for the other party"


def explain(run: EngagementRun, summary: Mapping[str, Any]) -> Explanation:
    """Explain the verdict in `summary` under the contract of `run`, and a repeat's in its place."""
    measured = Verdict(summary["verdict"])
    decision = Decision(run.repeat_verdict or run.decision or measured)
    reason, observed = reason_of(summary), details(summary)
    if run.repeat_verdict:
        observed = []
        old, new = (each.label.lower() for each in (Decision(run.decision or measured), decision))
        reason = f"The verdict was {old}; the repeat of the run replaces it by {new}."
    if awaits_other(run):
        consequence = "The verdict needs the measurement of the other party, which has not ended."
        return Explanation(
            AWAITS_OTHER, reason, observed, confidence(summary), consequence, "doubt"
        )
    headline, consequence = _TRIAL_HEADLINES[decision], _CONSEQUENCES.get(run.purpose, "")
    is_acceptance = run.purpose == EngagementRun.Purpose.ACCEPTANCE
    if is_acceptance and run.contract_version is not None:
        outcome = outcome_of_run(run)
        headline, consequence = outcome.headline, outcome.text
    if run.counterpart is not None and not run.repeat_verdict:
        is_noise = decision == Decision.INCONCLUSIVE and measured_by_both(run).is_noise
        found = NOISE_OF_ONE if is_noise else _OF_BOTH[decision]
        reason = f"{found} The consultancy’s measurement: {reason}"
    return Explanation(
        headline, reason, observed, confidence(summary), consequence, _TONES[decision]
    )


AGREEMENT: Final = "Both parties measured the same, and their intervals overlap."
_OF_BOTH: Final = {
    **dict.fromkeys(Decision, AGREEMENT),
    Decision.DISQUALIFIED: "Both parties’ referees disqualified the kernel.",
    Decision.DISAGREED: "The verdicts of both parties differ, or their intervals do not overlap.",
    Decision.INVALID: "One of the two measurements is invalid.",
    Decision.FAILED: "One of the two measurements has no record.",
}


NOISE_OF_ONE: Final = (
    "A measurement was inconclusive for noise, so the two together show no verdict on the target."
)


class Failure(NamedTuple):
    """A run without a record in words: its `cause` and its `consequence`.

    `is_of_candidate`: its own process ended the run.
    """

    cause: str
    consequence: str
    is_of_candidate: bool


def failure_of(run: EngagementRun) -> Failure | None:
    """Explain a run that failed; None for any other. It names no machine and no path."""
    if run.run.state != Run.State.FAILED:
        return None
    asked = run.request
    consequence = "It has no effect on the contract."
    if asked.purpose == EngagementRun.Purpose.ACCEPTANCE and asked.concluded_at is not None:
        consequence = outcome_of_run(asked).text
    code = run.run.failure_code
    return Failure(LABELS[code], consequence, code in OF_CANDIDATE)


def headline_of(run: EngagementRun, verdict: str) -> str:
    """The headline of a run whose record has this verdict, without a query."""
    if awaits_other(run):
        return AWAITS_OTHER
    verdict = run.repeat_verdict or run.decision or verdict
    is_decided = run.concluded_at is not None
    if run.purpose == EngagementRun.Purpose.ACCEPTANCE and is_decided:
        return outcomes.headline(verdict, run.attempt, repeats_noise=run.is_noise_repeat)
    return _TRIAL_HEADLINES[Decision(verdict)]
