"""One explanation of a measured run, which page, portal and report show alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.models import Verdict
from engagements.common.confidence import level, shown_level
from engagements.runs import outcomes
from engagements.runs.attempts import outcome_of_run
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import is_noise


class Explanation(NamedTuple):
    """A run in words: the `headline`, the `reason` of its verdict, the `confidence` of its interval
    (empty without one) and its `consequence`. `tone` is the panel's colour."""

    headline: str
    reason: str
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
_REASONS: Final = {
    Verdict.MET: "The whole interval lies at or above the target.",
    Verdict.MISSED: "The whole interval lies below the target.",
    Verdict.INCONCLUSIVE: (
        "The interval contains the target, so the target was neither met nor missed."
    ),
    Verdict.INVALID: "The run did not follow the protocol, so its times do not count.",
    Verdict.DISQUALIFIED: (
        "The candidate broke the rules of the benchmark, so its times do not count."
    ),
}
_NOISE: Final = (
    "The interval excludes the target, but the machine was too noisy or too often interrupted for "
    "a verdict."
)
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
    reason = _reason(measured, summary)
    if run.repeat_verdict:
        reason = f"{reason} The repeat of the run replaces this verdict: {verdict.label.lower()}."
    return Explanation(headline, reason, confidence(summary), consequence, _TONES[verdict])


def headline_of(run: EngagementRun, verdict: str) -> str:
    """The headline of a run with this verdict, or with that of its repeat, without a query."""
    verdict = run.repeat_verdict or verdict
    is_decided = run.concluded_at is not None
    if run.purpose == EngagementRun.Purpose.ACCEPTANCE and is_decided:
        return outcomes.headline(verdict, run.attempt, repeats_noise=run.is_noise_repeat)
    return _TRIAL_HEADLINES[Verdict(verdict)]


def _reason(verdict: Verdict, summary: Mapping[str, Any]) -> str:
    interval = summary.get("low"), summary.get("high")
    return _NOISE if is_noise(verdict, *interval, summary["target"]) else _REASONS[verdict]


def confidence(summary: Mapping[str, Any]) -> str:
    """The confidence of the interval in a sentence; empty without an interval."""
    stopped = level(summary)
    if stopped is None:
        return ""
    sealed = shown_level(float(summary["confidence"]))
    if shown_level(stopped) == sealed:
        return f"The interval has the sealed confidence of {sealed}."
    return (
        f"The interval is the {shown_level(stopped)} interval of the look at which the run "
        f"stopped, so that the whole run has the sealed confidence of {sealed}."
    )
