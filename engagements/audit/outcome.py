"""What six findings amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engagements.models import Audit, Finding, FindingOutcome

PASSES_FOR_CUSTOM = 4
PASSES_FOR_REDIRECT = 2


def outcome_of(passes: int) -> Audit.Outcome:
    """Four or more of six: custom work may be right. Two or three: redirect. Fewer: decline."""
    if passes >= PASSES_FOR_CUSTOM:
        return Audit.Outcome.CUSTOM
    if passes >= PASSES_FOR_REDIRECT:
        return Audit.Outcome.REDIRECT
    return Audit.Outcome.DECLINE


@dataclass(frozen=True)
class Tally:
    """Findings counted, with and without the overrides, so that both can be shown."""

    passes_found: int
    passes: int
    fails: int
    unknowns: int
    overridden: int

    @property
    def outcome(self) -> Audit.Outcome:
        """What the audit says: overrides count."""
        return outcome_of(self.passes)

    @property
    def outcome_found(self) -> Audit.Outcome:
        """What it would say without any override."""
        return outcome_of(self.passes_found)


def tally(findings: Sequence[Finding]) -> Tally:
    """Count `findings`. An unknown is no pass."""
    effective = [finding.effective_outcome for finding in findings]
    return Tally(
        passes_found=sum(finding.outcome == FindingOutcome.PASS for finding in findings),
        passes=effective.count(FindingOutcome.PASS),
        fails=effective.count(FindingOutcome.FAIL),
        unknowns=effective.count(FindingOutcome.UNKNOWN),
        overridden=sum(bool(finding.override_outcome) for finding in findings),
    )
