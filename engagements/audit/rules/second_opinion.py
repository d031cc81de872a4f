"""The three-condition test: room above the floor, hot, stable. All three hold, or no kernel."""

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
    """The three conditions from the six findings, and a note where they say otherwise."""
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
        said = "as the ratio of the whole implies"
    elif figures is not None and figures.most is not None:
        gain, said = figures.most, "up to the roofline"
    if gain is None:
        text = "How far the kernel is from the roofline is not measured."
        return Condition(name="headroom", outcome=Outcome.UNKNOWN, sentence=text)
    at = ""
    if figures is not None and figures.roofline_share is not None:
        at = f" It runs at {percent(figures.roofline_share)} of it now."
    outcome = Outcome.PASS if gain >= wanted else Outcome.FAIL
    text = f"The kernel has room for {times(gain)} {said}; {times(wanted)} is wanted.{at}"
    return Condition(name="headroom", outcome=outcome, sentence=text)


def _implied(share: float, ratio: float) -> float | None:
    """The kernel speedup that makes the whole `ratio` times as fast; None where none does."""
    left = 1 / ratio - (1 - share)
    return share / left if left > 0 else None


def _hot(hot: Finding) -> Condition:
    if not isinstance(hot.figures, HotFigures):
        text = "Where the time goes is not measured."
        return Condition(name="hot", outcome=Outcome.UNKNOWN, sentence=text)
    stricter = hot.figures.stricter
    return Condition(name="hot", outcome=stricter.outcome, sentence=stricter.sentence)


def _stable(stable: Finding) -> Condition:
    return Condition(name="stable", outcome=stable.outcome, sentence=stable.sentence)


def note(advice: Advice, opinion: SecondOpinion) -> str | None:
    """Where the two disagree, and what follows; None where they do not."""
    if advice == Advice.CUSTOM and opinion.outcome != Outcome.PASS:
        said = listed(
            [_open(opinion, outcome, words) for outcome, words in _OPEN if _names(opinion, outcome)]
        )
        return (
            "The six checks say that custom work may be right; the three-condition test does not: "
            f"{said}. Settle that before a contract."
        )
    if advice != Advice.CUSTOM and opinion.outcome == Outcome.PASS:
        return (
            "The three-condition test says that a kernel would pay off technically; the six checks "
            "say no for what stands around it: look at those that fail or are unknown."
        )
    return None


_OPEN = (
    (Outcome.FAIL, ("does not hold", "do not hold")),
    (Outcome.UNKNOWN, ("is not known", "are not known")),
)


def _names(opinion: SecondOpinion, outcome: Outcome) -> list[str]:
    return [each.name for each in opinion.conditions if each.outcome == outcome]


def _open(opinion: SecondOpinion, outcome: Outcome, words: tuple[str, str]) -> str:
    names = _names(opinion, outcome)
    return f"{listed(names)} {words[len(names) > 1]}"
