"""The facts of an audit report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings

from benchmarks.harness.canonical import canonical, digest_of_bytes
from engagements import audit as checks
from engagements import money
from engagements.audit import Tally
from engagements.documents import wording
from engagements.documents.audit_report.advice import SAID, SUGGESTIONS
from engagements.documents.paper import Enclosure, Paper
from engagements.documents.subjects import Subject
from engagements.errors import Refused
from engagements.models import Audit, Finding, FindingOutcome

NOUN = "audit"
SCHEMA = "twofold.audit/1"
_TONE = {
    FindingOutcome.PASS: "good",
    FindingOutcome.FAIL: "bad",
    FindingOutcome.UNKNOWN: "neutral",
}


def due() -> Iterator[Subject]:
    """Every delivered audit."""
    delivered = Audit.objects.filter(delivered_at__isnull=False).values_list("pk", flat=True)
    return (Subject(NOUN, pk) for pk in delivered)


def compose(subject: Subject) -> Paper:
    """The report of a delivered audit. Refused before that."""
    audit = Audit.objects.select_related("engagement__customer", "engagement__lead").get(
        pk=subject.pk
    )
    if audit.delivered_at is None:
        raise Refused("An audit report is issued when the audit is delivered.")
    findings = _in_order(audit)
    counted = checks.tally(findings)
    sealed = canonical(as_data(audit, findings, audit.delivered_at))
    engagement = audit.engagement
    return Paper(
        engagement=engagement,
        title=f"Audit report {engagement.reference}",
        running_title=f"Audit report {engagement.reference}",
        filename=f"{engagement.reference}-audit-report.pdf",
        template="documents/audit_report.html",
        dated=audit.delivered_at,
        seal=digest_of_bytes(sealed),
        sealed="The findings, attached as audit.json",
        summary=f"Six checks on {engagement.title}, for {engagement.customer.name}.",
        context=_context(audit, findings, counted, audit.delivered_at),
        enclosures=(Enclosure("audit.json", sealed, "The six findings and their outcome as data"),),
    )


def as_data(audit: Audit, findings: list[Finding], delivered_at: datetime) -> dict[str, Any]:
    """The audit as plain data (schema twofold.audit/1), for who reads it by program."""
    counted = checks.tally(findings)
    return {
        "schema": SCHEMA,
        "engagement": {
            "reference": audit.engagement.reference,
            "title": audit.engagement.title,
            "customer": audit.engagement.customer.name,
        },
        "delivered_at": delivered_at.isoformat(),
        "cost": money.plain(audit.cost, audit.currency),
        "currency": audit.currency,
        "outcome": audit.outcome,
        "passes": counted.passes,
        "findings": [
            {
                "check": finding.check_name,
                "outcome": finding.outcome,
                "value": finding.value,
                "rationale": finding.rationale,
                "override": {
                    "outcome": finding.override_outcome,
                    "reason": finding.override_reason,
                    "by": str(finding.overridden_by),
                }
                if finding.override_outcome
                else None,
            }
            for finding in findings
        ],
    }


def _in_order(audit: Audit) -> list[Finding]:
    by_check = {
        finding.check_name: finding
        for finding in audit.findings.select_related("found_by", "overridden_by")
    }
    return [by_check[check.name] for check in checks.CHECKS]


def _context(
    audit: Audit, findings: list[Finding], counted: Tally, delivered_at: datetime
) -> dict[str, Any]:
    outcome = Audit.Outcome(audit.outcome)
    return {
        "engagement": audit.engagement,
        "consultancy": wording.party(settings.CONSULTANCY),
        "customer": wording.customer(audit.engagement.customer),
        "delivered_on": wording.day(delivered_at),
        "cost": money.format_money(audit.cost, audit.currency),
        "said": SAID[outcome],
        "suggestions": SUGGESTIONS if outcome != Audit.Outcome.CUSTOM else (),
        "counted": counted,
        "outcome_found": SAID[Audit.Outcome(counted.outcome_found)],
        "findings": [_shown(number, each) for number, each in enumerate(findings, start=1)],
    }


def _shown(number: int, finding: Finding) -> dict[str, Any]:
    check = checks.check(finding.check_name)
    found, effective = FindingOutcome(finding.outcome), FindingOutcome(finding.effective_outcome)
    return {
        "number": number,
        "question": check.question,
        "why": check.why,
        "value_label": check.value_label,
        "value": finding.value or "not known",
        "rationale": finding.rationale,
        "meaning": check.customer.of(effective),
        "found": found.label,
        "found_tone": _TONE[found],
        "effective": effective.label,
        "effective_tone": _TONE[effective],
        "found_by": str(finding.found_by or ""),
        "override_reason": finding.override_reason,
        "overridden_by": str(finding.overridden_by or ""),
    }
