"""An engagement's audit, as pages read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from engagements.audit import rules
from engagements.audit.models import Audit, Finding
from engagements.engagement.models import Engagement


@dataclass(frozen=True)
class AuditSummary:
    """The audit of one engagement and its findings."""

    engagement: Engagement

    @property
    def audit(self) -> Audit | None:
        """The audit, once it is started."""
        return getattr(self.engagement, "audit", None)

    @cached_property
    def findings(self) -> list[Finding]:
        """The six findings in the order of the checks; none before the audit is started."""
        if self.audit is None:
            return []
        order: dict[str, int] = {check.name: at for at, check in enumerate(rules.CHECKS)}
        return sorted(self.audit.findings.all(), key=lambda found: order[found.check_name])

    @property
    def tally(self) -> rules.Tally:
        """The findings counted by outcome."""
        return rules.tally(self.findings)

    @property
    def unanswered(self) -> int:
        """How many checks have no finding yet; a recorded `unknown` is a finding."""
        return sum(finding.found_at is None for finding in self.findings)
