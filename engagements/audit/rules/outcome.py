"""What six outcomes amount to, counted with and without overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engagements.audit.rules.words import Advice, Outcome

PASSES_FOR_CUSTOM = 4
PASSES_FOR_REDIRECT = 2


class Counted(Protocol):
    """A finding as far as counting goes: the model's, or anything with the same three words."""

    @property
    def outcome(self) -> str: ...

    @property
    def override_outcome(self) -> str: ...

    @property
    def effective_outcome(self) -> str: ...


def outcome_of(passes: int) -> Advice:
    """Four or more of six: custom work may be right. Two or three: redirect. Fewer: decline."""
    if passes >= PASSES_FOR_CUSTOM:
        return Advice.CUSTOM
    if passes >= PASSES_FOR_REDIRECT:
        return Advice.REDIRECT
    return Advice.DECLINE


@dataclass(frozen=True)
class Tally:
    """Findings counted, with and without the overrides, so that both can be shown."""

    passes_found: int
    passes: int
    fails: int
    unknowns: int
    overridden: int

    @property
    def outcome(self) -> Advice:
        """What the audit says: overrides count."""
        return outcome_of(self.passes)

    @property
    def outcome_found(self) -> Advice:
        """What it would say without any override."""
        return outcome_of(self.passes_found)


def tally(findings: Sequence[Counted]) -> Tally:
    """Count `findings`. An unknown is no pass."""
    effective = [finding.effective_outcome for finding in findings]
    return Tally(
        passes_found=sum(finding.outcome == Outcome.PASS for finding in findings),
        passes=effective.count(Outcome.PASS),
        fails=effective.count(Outcome.FAIL),
        unknowns=effective.count(Outcome.UNKNOWN),
        overridden=sum(bool(finding.override_outcome) for finding in findings),
    )
