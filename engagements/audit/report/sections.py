"""One check as the report tells it: computed where it can be, by hand else, overrides beside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from engagements.audit import rules as checks
from engagements.audit.charts import of_finding
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.report import tables
from engagements.audit.rules.thresholds import from_data

NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Section:
    """One of the six, with everything that its page says."""

    number: int
    check: checks.Description
    row: Finding
    thresholds: checks.Thresholds

    @cached_property
    def computed(self) -> checks.Finding | None:
        """What the evidence says; None where nothing was computed."""
        return self.row.computed_finding

    @property
    def found(self) -> FindingOutcome:
        """The outcome before any override."""
        return FindingOutcome(self.row.outcome)

    @property
    def effective(self) -> FindingOutcome:
        """The outcome that counts."""
        return FindingOutcome(self.row.effective_outcome)

    @property
    def is_by_hand(self) -> bool:
        """Whether a person answered what the evidence leaves open."""
        return self.row.is_by_hand

    @property
    def value(self) -> str:
        """The value that the outcome rests on."""
        if self.computed is not None and not self.is_by_hand:
            return self.computed.shown or NOT_KNOWN
        return self.row.value or NOT_KNOWN

    @property
    def wanted(self) -> str:
        """The line that the value is held against."""
        return self.computed.wanted if self.computed else ""

    @property
    def sentence(self) -> str:
        """The finding in a sentence for the customer."""
        if self.computed is not None and not self.is_by_hand:
            return self.computed.sentence
        return self.check.customer.of(self.found)

    @property
    def paragraphs(self) -> list[str]:
        """What an engineer wants to read: computed, and by hand where a person knew more."""
        said = [self.computed.paragraph] if self.computed else []
        if self.is_by_hand and self.row.rationale:
            said.append(self.row.rationale)
        return [text for text in said if text]

    @property
    def to_collect(self) -> tuple[checks.Missing, ...]:
        """What would decide it, as long as the evidence does not."""
        return self.computed.to_collect if self.computed else ()

    @property
    def is_undecided(self) -> bool:
        """Whether the evidence leaves the outcome open; else what is collected adds to it."""
        return self.computed is not None and self.computed.outcome == checks.Outcome.UNKNOWN

    @property
    def asks_people(self) -> bool:
        """Whether some of what is to be collected is an answer of the questionnaire."""
        of_people = (checks.Check.SURVIVES, checks.Check.MAINTAIN)
        is_open = any(missing.command is None for missing in self.to_collect)
        return is_open and self.check.name in of_people

    @property
    def sources(self) -> tuple[checks.Source, ...]:
        """What it was computed from."""
        return self.computed.evidence if self.computed else ()

    @property
    def tables(self) -> tuple[tables.Table, ...]:
        """The figures in rows."""
        return tables.of(self.computed.figures) if self.computed else ()

    @property
    def picture(self) -> of_finding.Told | None:
        """The words of its picture; None where it has none."""
        return of_finding.told(self.computed) if self.computed else None


def sections_of(audit: Audit) -> list[Section]:
    """The six, in the order in which they are asked."""
    rows = audit.findings.select_related("found_by", "overridden_by")
    by_check = {row.check_name: row for row in rows}
    thresholds = thresholds_of(audit)
    return [
        Section(number, check, by_check[check.name], thresholds)
        for number, check in enumerate(checks.CHECKS, start=1)
    ]


def thresholds_of(audit: Audit) -> checks.Thresholds:
    """The lines that this audit draws."""
    return from_data(audit.thresholds)
