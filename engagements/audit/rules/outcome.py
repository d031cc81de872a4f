"""The outcome of an audit, counted with and without overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engagements.audit.rules import off_the_shelf
from engagements.audit.rules.labels import Advice, Outcome

# The check whose fail excludes custom work, whatever the count.
GATE = off_the_shelf.NAME
PASSES_FOR_CUSTOM = 4
PASSES_FOR_REDIRECT = 2


class Counted(Protocol):
    """The outcomes of a finding."""

    @property
    def outcome(self) -> str: ...

    @property
    def check_name(self) -> str: ...

    @property
    def is_overridden(self) -> bool: ...

    @property
    def effective_outcome(self) -> str: ...


def outcome_of(passes: int, *, has_library: bool = False) -> Advice:
    """Four or more passes: custom work may be right. Two or three: redirect. Fewer: decline.

    Where the check of libraries fails (`has_library`), the outcome is at most a redirect, to the
    library.
    """
    if passes >= PASSES_FOR_CUSTOM and not has_library:
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
    has_library: bool
    has_library_found: bool

    @property
    def outcome(self) -> Advice:
        """The outcome, overrides counted."""
        return outcome_of(self.passes, has_library=self.has_library)

    @property
    def outcome_found(self) -> Advice:
        """The outcome without overrides."""
        return outcome_of(self.passes_found, has_library=self.has_library_found)


def tally(findings: Sequence[Counted]) -> Tally:
    """Count `findings`. An unknown does not count as a pass."""
    effective = [finding.effective_outcome for finding in findings]
    return Tally(
        total=len(effective),
        passes_found=sum(finding.outcome == Outcome.PASS for finding in findings),
        passes=effective.count(Outcome.PASS),
        fails=effective.count(Outcome.FAIL),
        unknowns=effective.count(Outcome.UNKNOWN),
        overridden=sum(finding.is_overridden for finding in findings),
        has_library=any(
            finding.check_name == GATE and finding.effective_outcome == Outcome.FAIL
            for finding in findings
        ),
        has_library_found=any(
            finding.check_name == GATE and finding.outcome == Outcome.FAIL for finding in findings
        ),
    )
