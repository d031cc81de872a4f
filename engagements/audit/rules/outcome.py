"""The outcome of an audit, counted with and without overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engagements.audit.rules.labels import Advice, Outcome

PASSES_FOR_CUSTOM = 4
PASSES_FOR_REDIRECT = 2


class Counted(Protocol):
    """The outcomes of a finding."""

    @property
    def outcome(self) -> str: ...

    @property
    def override_outcome(self) -> str: ...

    @property
    def effective_outcome(self) -> str: ...


def outcome_of(passes: int) -> Advice:
    """Four or more passes: custom work may be right. Two or three: redirect. Fewer: decline."""
    if passes >= PASSES_FOR_CUSTOM:
        return Advice.CUSTOM
    if passes >= PASSES_FOR_REDIRECT:
        return Advice.REDIRECT
    return Advice.DECLINE


@dataclass(frozen=True)
class Tally:
    """Findings counted, with and without overrides."""

    total: int
    passes_found: int
    passes: int
    fails: int
    unknowns: int
    overridden: int

    @property
    def outcome(self) -> Advice:
        """The outcome, overrides counted."""
        return outcome_of(self.passes)

    @property
    def outcome_found(self) -> Advice:
        """The outcome without overrides."""
        return outcome_of(self.passes_found)


def tally(findings: Sequence[Counted]) -> Tally:
    """Count `findings`. An unknown does not count as a pass."""
    effective = [finding.effective_outcome for finding in findings]
    return Tally(
        total=len(effective),
        passes_found=sum(finding.outcome == Outcome.PASS for finding in findings),
        passes=effective.count(Outcome.PASS),
        fails=effective.count(Outcome.FAIL),
        unknowns=effective.count(Outcome.UNKNOWN),
        overridden=sum(bool(finding.override_outcome) for finding in findings),
    )
