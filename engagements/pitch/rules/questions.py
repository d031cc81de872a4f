"""What to ask whoever pitches a kernel: what its own numbers leave open, then what always is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.words import Check, Outcome


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, and the check that it belongs to; None belongs to the pitch as a whole."""

    text: str
    check: Check | None = None


# Of the sources: where the speedup is measured, what a kernel costs after it was written, and
# who bears it when the speedup does not show up.
STANDING: Final = (
    Asked(
        check=Check.HOT,
        text="Is the speedup end to end on our traffic, or of the kernel alone?",
    ),
    Asked(
        check=Check.OFF_THE_SHELF,
        text="Against which library was it measured, in which version and with which settings, "
        "and did somebody try the newest?",
    ),
    Asked(
        check=Check.STABLE,
        text="How fast is it on our rarest shapes, and what do they fall back to?",
    ),
    Asked(
        check=Check.SURVIVES,
        text="What of it is left when the model changes, and when the GPU does?",
    ),
    Asked(
        check=Check.MAINTAIN,
        text="Who tunes it again for the next GPU and looks for the error when a number is wrong, "
        "and do we get the source, its tests and its benchmark?",
    ),
    Asked(
        check=Check.WORTH,
        text="How near to the roofline is the kernel that we run today?",
    ),
    Asked(
        text="On which shapes and inputs are its outputs compared with a reference, and how far "
        "may they be off?",
    ),
    Asked(
        text="Is the end-to-end target on an agreed benchmark part of the contract, and does the "
        "fee go back when it is missed?",
    ),
)
_FIRST: Final = {Outcome.FAIL: 0, Outcome.UNKNOWN: 1, Outcome.PASS: 2}


def questions(verdict: Verdict) -> tuple[Asked, ...]:
    """Every question once, those of the checks that fail first.

    A standing question is asked where its check neither passes nor has one of its own.
    """
    findings = sorted(verdict.findings, key=lambda finding: _FIRST[finding.outcome])
    found = [Asked(check=each.check, text=text) for each in findings for text in each.questions]
    settled = {each.check for each in verdict.findings if each.outcome == Outcome.PASS}
    settled |= {each.check for each in found if each.check is not None}
    due = [each for each in STANDING if each.check is None or each.check not in settled]
    return tuple({each.text: each for each in (*found, *due)}.values())
