"""Queries: the audit of an engagement, and audits not yet billed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.db.models import Exists, F, OuterRef, QuerySet, Sum

from engagements.audit import rules
from engagements.audit.models import Audit, Finding
from engagements.engagement.models import Engagement, Stage
from engagements.ledger import chart
from engagements.ledger.models import MonthTotal


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
        """The findings in the order of the checks; none before the audit is started."""
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
        """The number of checks without a finding; a recorded `unknown` is a finding."""
        return sum(finding.found_at is None for finding in self.findings)

    @property
    def open_overrides(self) -> int:
        """The number of overrides that a second consultant has to confirm."""
        return sum(finding.is_override_open for finding in self.findings)


WITHOUT_A_CONTRACT = (Stage.REDIRECTED, Stage.DECLINED)


def unbilled_audits() -> QuerySet[Audit]:
    """Return delivered audits without a contract that are neither billed nor waived.

    Oldest first; costs are net.
    """
    unbilled = (
        MonthTotal.objects.filter(
            engagement=OuterRef("engagement"), account__code=chart.AUDIT_UNBILLED
        )
        .values("engagement")
        .annotate(balance=Sum(F("debit") - F("credit")))
        .filter(balance__gt=0)
    )
    return (
        Audit.objects.filter(Exists(unbilled), engagement__stage__in=WITHOUT_A_CONTRACT)
        .select_related("engagement__customer")
        .order_by("delivered_at", "pk")
    )
