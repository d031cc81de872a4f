"""Audit a demonstration engagement, from its evidence and from findings entered by hand."""

from __future__ import annotations

from consultancy.demo import evidence, waiting
from consultancy.demo.scenarios import Scenario
from engagements.audit import services as audits
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.rules import Work
from engagements.engagement.models import Engagement
from engagements.people.models import User


def run_audit(
    scenario: Scenario,
    *,
    engagement: Engagement,
    respondent: User,
    by: User,
    deadline: waiting.Deadline,
) -> int:
    """Audit and deliver; return how many checks pass.

    `respondent` answers the questionnaire for the customer.
    """
    audit = audits.start(
        engagement=engagement, cost=scenario.audit_cost, currency=scenario.customer.currency, by=by
    )
    if scenario.evidence is not None:
        evidence.submit(scenario.evidence, engagement=engagement, respondent=respondent, by=by)
        waiting.wait_for_evidence(engagement, deadline=deadline)
        work = Work(weeks=scenario.weeks, fee=scenario.fee, currency=scenario.customer.currency)
        evidence.set_subject(scenario.evidence, audit=audit, work=work, by=by)
    record_findings(scenario, audit=audit, by=by)
    audits.deliver(audit=Audit.objects.get(pk=audit.pk), by=by)
    return Finding.objects.filter(audit=audit, outcome=FindingOutcome.PASS).count()


def record_findings(scenario: Scenario, *, audit: Audit, by: User) -> None:
    """Enter the findings that no evidence decides."""
    for check, (outcome, value, rationale) in scenario.findings.items():
        audits.record_finding(
            audit=audit,
            check=check,
            outcome=FindingOutcome(outcome),
            value=value,
            rationale=rationale,
            by=by,
        )
