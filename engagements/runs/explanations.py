"""One explanation of a measured run, which page, portal and report show alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.models import Verdict
from benchmarks.verdict.explanations import confidence, details
from benchmarks.verdict.explanations import reason as reason_of
from engagements.runs import outcomes
from engagements.runs.attempts import outcome_of_run
from engagements.runs.models import EngagementRun


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
}
_TONES: Final = {
    Verdict.MET: "good",
    Verdict.MISSED: "bad",
    Verdict.INCONCLUSIVE: "doubt",
    Verdict.INVALID: "doubt",
    Verdict.DISQUALIFIED: "bad",
}
_TRIAL: Final = "This was a trial run, without effect on a contract."


def explain(run: EngagementRun, summary: Mapping[str, Any]) -> Explanation:
    """Explain the verdict in `summary` under the contract of `run`, and a repeat's in its place."""
    measured = Verdict(summary["verdict"])
    verdict = Verdict(run.repeat_verdict or measured)
    headline, consequence = _TRIAL_HEADLINES[verdict], _TRIAL
    is_acceptance = run.purpose == EngagementRun.Purpose.ACCEPTANCE
    if is_acceptance and run.contract_version is not None:
        outcome = outcome_of_run(run)
        headline, consequence = outcome.headline, outcome.text
    reason, observed = reason_of(summary), details(summary)
    if run.repeat_verdict:
        observed = []
        old, new = measured.label.lower(), verdict.label.lower()
        reason = f"The record’s verdict was {old}; the repeat of the run replaces it by {new}."
    return Explanation(
        headline, reason, observed, confidence(summary), consequence, _TONES[verdict]
    )


def headline_of(run: EngagementRun, verdict: str) -> str:
    """The headline of a run with this verdict, or with that of its repeat, without a query."""
    verdict = run.repeat_verdict or verdict
    is_decided = run.concluded_at is not None
    if run.purpose == EngagementRun.Purpose.ACCEPTANCE and is_decided:
        return outcomes.headline(verdict, run.attempt, repeats_noise=run.is_noise_repeat)
    return _TRIAL_HEADLINES[Verdict(verdict)]
