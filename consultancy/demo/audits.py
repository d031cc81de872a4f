"""Audit a demonstration engagement, from its evidence and from findings entered by hand."""

from __future__ import annotations

from consultancy.demo import evidence, waiting
from consultancy.demo.scenarios import Scenario
from engagements.audit import overrides
from engagements.audit import services as audits
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.rules import Work
from engagements.audit.rules.outcome import GATE, tally
from engagements.engagement.models import Engagement
from engagements.people.models import User


def run_audit(
    scenario: Scenario,
    *,
    engagement: Engagement,
    respondent: User,
    by: User,
    second: User,
    deadline: waiting.Deadline,
) -> int:
    """Audit and deliver; return how many checks pass.

    `respondent` answers the questionnaire for the customer, `second` confirms an override.
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
    exclude_libraries(scenario, audit=audit, by=by, second=second)
    audits.deliver(audit=Audit.objects.get(pk=audit.pk), by=by)
    return tally(list(Finding.objects.filter(audit=audit))).passes


def exclude_libraries(scenario: Scenario, *, audit: Audit, by: User, second: User) -> None:
    """Override the gate where a library fits by its documentation but not the customer's server."""
    finding = Finding.objects.get(audit=audit, check_name=GATE)
    if scenario.exclusion_reason and finding.outcome == FindingOutcome.FAIL:
        overrides.propose(
            finding=finding, outcome=FindingOutcome.PASS, reason=scenario.exclusion_reason, by=by
        )
        overrides.confirm(finding=finding, by=second)


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
