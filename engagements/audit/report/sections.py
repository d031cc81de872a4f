"""Sections of the audit report: one a check, with its outcome, texts, tables and chart."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property

from engagements.audit import rules
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.rules.figures import NOT_KNOWN, Chart, Table
from engagements.audit.rules.thresholds import from_data


@dataclass(frozen=True)
class Section:
    """One check in the report. Texts are computed, or by hand where the evidence is silent."""

    number: int
    check: rules.Check
    row: Finding
    thresholds: rules.Thresholds

    @cached_property
    def computed(self) -> rules.Finding | None:
        """The finding from evidence; None without one."""
        return self.row.computed_finding

    @property
    def found(self) -> FindingOutcome:
        """The outcome before any override."""
        return FindingOutcome(self.row.outcome)

    @property
    def effective(self) -> FindingOutcome:
        """The outcome with its override."""
        return FindingOutcome(self.row.effective_outcome)

    @property
    def is_by_hand(self) -> bool:
        """Whether a person answered the check."""
        return self.row.is_by_hand

    @property
    def value(self) -> str:
        """The value that the outcome is based on."""
        if self.computed is not None and not self.is_by_hand:
            return self.computed.shown or NOT_KNOWN
        return self.row.value or NOT_KNOWN

    @property
    def wanted(self) -> str:
        """The threshold of the value."""
        return self.computed.wanted if self.computed else ""

    @property
    def sentence(self) -> str:
        """The finding in a sentence for the customer."""
        if self.computed is not None and not self.is_by_hand:
            return self.computed.sentence
        return self.check.customer.of(self.found)

    @property
    def paragraphs(self) -> list[str]:
        """Details for an engineer: from evidence, then the rationale of the author."""
        texts = [self.computed.paragraph] if self.computed else []
        if self.is_by_hand and self.row.rationale:
            texts.append(self.row.rationale)
        return [text for text in texts if text]

    @property
    def to_collect(self) -> tuple[rules.Missing, ...]:
        """Evidence that would decide or refine the finding."""
        return self.computed.to_collect if self.computed else ()

    @property
    def is_undecided(self) -> bool:
        """Whether the evidence leaves the outcome open."""
        return self.computed is not None and self.computed.outcome == rules.Outcome.UNKNOWN

    @property
    def asks_people(self) -> bool:
        """Whether the missing evidence includes answers of the questionnaire."""
        is_open = any(missing.command is None for missing in self.to_collect)
        return is_open and self.check.asks_people

    @property
    def sources(self) -> tuple[rules.Source, ...]:
        """The sources of the finding."""
        return self.computed.evidence if self.computed else ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The figures in rows."""
        figures = self.computed.figures if self.computed else None
        return tuple(table for table in figures.tables() if table.rows) if figures else ()

    @cached_property
    def chart(self) -> Chart | None:
        """The chart with its texts; None without one."""
        figures = self.computed.figures if self.computed else None
        return figures.chart(self.thresholds) if figures else None

    @property
    def image(self) -> str:
        """The chart for print, as a data: URL; "" without a chart."""
        svg = self.chart.draw("print") if self.chart else ""
        encoded = base64.b64encode(svg.encode()).decode()
        return f"data:image/svg+xml;base64,{encoded}" if svg else ""


def sections_of(audit: Audit) -> list[Section]:
    """Return a section for every check, in order."""
    rows = audit.findings.select_related("found_by", "overridden_by", "override_confirmed_by")
    by_check = {row.check_name: row for row in rows}
    thresholds = from_data(audit.thresholds)
    return [
        Section(number, check, by_check[check.name], thresholds)
        for number, check in enumerate(rules.CHECKS, start=1)
    ]
