"""Questions for the vendor of a kernel: first those of its own numbers, then the standard ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engagements.audit.rules import CHECKS
from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.labels import Outcome


@dataclass(frozen=True, kw_only=True)
class VendorQuestion:
    """A question with its check; None for the pitch as a whole."""

    text: str
    check: str | None = None


STANDARD: Final = (
    *(VendorQuestion(check=check.name, text=check.vendor_question) for check in CHECKS),
    VendorQuestion(
        text="On which shapes and inputs are outputs compared with a reference, and with which "
        "tolerance?",
    ),
    VendorQuestion(
        text="Is the end-to-end target on an agreed benchmark part of the contract, and is the "
        "fee refunded when it is missed?",
    ),
)
_FIRST: Final = {Outcome.FAIL: 0, Outcome.UNKNOWN: 1, Outcome.PASS: 2}


def questions(verdict: Verdict) -> tuple[VendorQuestion, ...]:
    """Every question once, those of failed checks first.

    A standard question is left out where its check passes or has a question of its own.
    """
    findings = sorted(verdict.findings, key=lambda finding: _FIRST[finding.outcome])
    found = [
        VendorQuestion(check=each.check, text=text) for each in findings for text in each.questions
    ]
    answered = {each.check for each in verdict.findings if each.outcome == Outcome.PASS}
    answered |= {each.check for each in found if each.check is not None}
    due = [each for each in STANDARD if each.check is None or each.check not in answered]
    return tuple({each.text: each for each in (*found, *due)}.values())
