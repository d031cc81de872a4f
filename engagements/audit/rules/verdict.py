"""The verdict: six findings, their outcome and the advice."""

from __future__ import annotations

from typing import Any

import msgspec

from engagements.audit.rules import CHECKS, off_the_shelf, worth
from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.figures import decode
from engagements.audit.rules.finding import Finding
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.instead import alternatives
from engagements.audit.rules.labels import Advice, Outcome
from engagements.audit.rules.ladder import rung
from engagements.audit.rules.outcome import GATE, outcome_of
from engagements.audit.rules.phrases import times_each
from engagements.audit.rules.second_opinion import second_opinion
from engagements.audit.rules.tools import recommend

SCHEMA = "twofold.verdict/1"


def examine(inputs: AuditInputs) -> Verdict:
    """Run the six checks. Never raises: a check without inputs is unknown."""
    findings = {check.name: check.find(inputs) for check in CHECKS}
    return conclude(inputs, findings, [finding.outcome for finding in findings.values()])


def conclude(inputs: AuditInputs, findings: dict[str, Finding], outcomes: list[Outcome]) -> Verdict:
    """Conclude from findings and their `outcomes`, which differ from the findings if overridden."""
    passes = outcomes.count(Outcome.PASS)
    has_library = dict(zip(findings, outcomes, strict=True))[GATE] == Outcome.FAIL
    advice = outcome_of(passes, has_library=has_library)
    return Verdict(
        findings=tuple(findings.values()),
        advice=advice,
        passes=passes,
        sentence=_sentence(
            advice, passes, outcomes.count(Outcome.UNKNOWN), has_library=has_library
        ),
        use_first=_use_first(inputs) if has_library else "",
        second_opinion=second_opinion(inputs, findings, advice),
        tool=recommend(inputs, findings[worth.NAME]) if advice == Advice.CUSTOM else None,
        rung=rung(inputs),
        instead=alternatives(inputs),
        thresholds=inputs.thresholds,
        examined_on=inputs.today,
    )


def _use_first(inputs: AuditInputs) -> str:
    """The head of the advice: a library that fits is used first. Empty without one."""
    fitting = off_the_shelf.fitting(inputs)
    if not fitting:
        return ""
    library = fitting[0]
    text = f"Use {off_the_shelf.named(library)} first: it covers your case"
    if library.ratio is None:
        return f"{text}."
    return f"{text}. A custom kernel measured {times_each(library.ratio)} end to end over it."


def as_data(verdict: Verdict) -> dict[str, Any]:
    """Serialise the verdict as JSON data with its schema."""
    return {"schema": SCHEMA, **msgspec.to_builtins(verdict)}


def from_data(data: dict[str, Any]) -> Verdict:
    """Restore a stored verdict. ValueError for another schema."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"This verdict is not of schema {SCHEMA}.")
    return msgspec.convert(
        {k: v for k, v in data.items() if k != "schema"}, Verdict, dec_hook=decode
    )


def _sentence(advice: Advice, passes: int, unknown: int, *, has_library: bool) -> str:
    counted = f"{passes} of {len(CHECKS)} checks {'passes' if passes == 1 else 'pass'}"
    if unknown:
        counted += f", {unknown} {'is' if unknown == 1 else 'are'} unknown"
    said = {
        Advice.CUSTOM: "custom kernel work may be right",
        Advice.REDIRECT: "the effort gains more elsewhere",
        Advice.DECLINE: "a custom kernel is not worth it here",
    }[advice]
    if has_library and outcome_of(passes) == Advice.CUSTOM:
        return f"{counted}, but a library fits: it comes before a custom kernel."
    if outcome_of(passes + unknown, has_library=has_library) == advice:
        return f"{counted}: {said}."
    so_far = "too little evidence supports a custom kernel" if advice == Advice.DECLINE else said
    return (
        f"{counted}. An unknown does not count as a pass: so far {so_far}. The unknown checks may "
        "change that."
    )
