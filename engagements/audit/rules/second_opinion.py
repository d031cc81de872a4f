"""The three-condition test: headroom, hot, stable. A kernel requires all three."""

from __future__ import annotations

from dataclasses import replace

from engagements.audit.rules import hot, stable, worth
from engagements.audit.rules.advice import Condition, SecondOpinion
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.finding import Finding
from engagements.audit.rules.hot import HotFigures
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Advice, Outcome
from engagements.audit.rules.phrases import listed, percent, times


def second_opinion(
    inputs: AuditInputs, findings: dict[str, Finding], advice: Advice
) -> SecondOpinion:
    """Test three conditions on the six findings, with a note when the advice differs."""
    conditions = (
        _headroom(inputs, findings[worth.NAME]),
        _hot(findings[hot.NAME]),
        _stable(findings[stable.NAME]),
    )
    outcomes = {condition.outcome for condition in conditions}
    outcome = Outcome.PASS
    if Outcome.FAIL in outcomes:
        outcome = Outcome.FAIL
    elif Outcome.UNKNOWN in outcomes:
        outcome = Outcome.UNKNOWN
    opinion = SecondOpinion(outcome=outcome, conditions=conditions, note=None)
    return replace(opinion, note=note(advice, opinion))


def _headroom(inputs: AuditInputs, worth: Finding) -> Condition:
    wanted = inputs.thresholds.headroom
    figures = worth.figures if isinstance(worth.figures, CeilingFigures) else None
    gain, said = None, ""
    if figures is not None and figures.end_to_end is not None:
        gain = _implied(figures.share, figures.end_to_end.low)
        said = "implied by the end-to-end ratio"
    elif figures is not None and figures.most is not None:
        gain, said = figures.most, "up to the roofline"
    if gain is None:
        text = "The kernel's share of the roofline is not measured."
        return Condition(name="headroom", outcome=Outcome.UNKNOWN, sentence=text)
    at = ""
    if figures is not None and figures.roofline_share is not None:
        at = f" It now reaches {percent(figures.roofline_share)} of it."
    outcome = Outcome.PASS if gain >= wanted else Outcome.FAIL
    text = f"The kernel has headroom of {times(gain)} {said}; {times(wanted)} is required.{at}"
    return Condition(name="headroom", outcome=outcome, sentence=text)


def _implied(share: float, ratio: float) -> float | None:
    """Return the kernel speedup required for `ratio` end to end; None when none suffices."""
    left = 1 / ratio - (1 - share)
    return share / left if left > 0 else None


def _hot(hot: Finding) -> Condition:
    if not isinstance(hot.figures, HotFigures):
        text = "The shares of time are not measured."
        return Condition(name="hot", outcome=Outcome.UNKNOWN, sentence=text)
    stricter = hot.figures.stricter
    return Condition(name="hot", outcome=stricter.outcome, sentence=stricter.sentence)


def _stable(stable: Finding) -> Condition:
    return Condition(name="stable", outcome=stable.outcome, sentence=stable.sentence)


def note(advice: Advice, opinion: SecondOpinion) -> str | None:
    """Describe a disagreement of the two tests and its consequence; None when they agree."""
    if advice == Advice.CUSTOM and opinion.outcome != Outcome.PASS:
        said = listed(
            [_open(opinion, outcome, words) for outcome, words in _OPEN if _names(opinion, outcome)]
        )
        return (
            "The six checks advise custom work, the three-condition test does not: "
            f"{said}. Resolve this before a contract."
        )
    if advice != Advice.CUSTOM and opinion.outcome == Outcome.PASS:
        return (
            "The three-condition test finds a kernel technically worthwhile; the six checks advise "
            "against it for other reasons. See the checks that fail or are unknown."
        )
    return None


_OPEN = (
    (Outcome.FAIL, ("is not met", "are not met")),
    (Outcome.UNKNOWN, ("is not known", "are not known")),
)


def _names(opinion: SecondOpinion, outcome: Outcome) -> list[str]:
    return [each.name for each in opinion.conditions if each.outcome == outcome]


def _open(opinion: SecondOpinion, outcome: Outcome, words: tuple[str, str]) -> str:
    names = _names(opinion, outcome)
    return f"{listed(names)} {words[len(names) > 1]}"
