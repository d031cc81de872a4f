"""Compose the audit report: its context, and the audit as data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.audit import rules
from engagements.audit.models import Audit, FindingOutcome
from engagements.audit.report import exhibits
from engagements.audit.report.advice import OUTCOME_TEXTS, SUGGESTIONS
from engagements.audit.report.sections import Section, sections_of
from engagements.common import money
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument

NOUN = "audit"
SCHEMA = "twofold.audit/2"
TONE = {
    FindingOutcome.PASS: "good",
    FindingOutcome.FAIL: "bad",
    FindingOutcome.UNKNOWN: "neutral",
}


def due() -> Iterator[Subject]:
    """Iterate over the delivered audits."""
    delivered = Audit.objects.filter(delivered_at__isnull=False).values_list("pk", flat=True)
    return (Subject(NOUN, pk) for pk in delivered)


def compose(subject: Subject) -> RenderableDocument:
    """Compose the report of a delivered audit. Raises ApplicationError before delivery."""
    audit = Audit.objects.select_related("engagement__customer", "engagement__lead").get(
        pk=subject.pk
    )
    if audit.delivered_at is None:
        raise ApplicationError(
            "Deliver the audit first: its report is issued then.", code="audit.not_delivered"
        )
    sections = sections_of(audit)
    sealed = canonical(as_data(audit, sections, audit.delivered_at))
    engagement = audit.engagement
    return RenderableDocument(
        engagement=engagement,
        title=f"Audit report {engagement.reference}",
        running_title=f"Audit report {engagement.reference}",
        filename=f"{engagement.reference}-audit-report.pdf",
        template="audit/document/audit_report.html",
        dated=audit.delivered_at,
        seal=digest_of_bytes(sealed),
        sealed="The findings, attached as audit.json",
        summary=f"Checks of {engagement.title}, for {engagement.customer.name}.",
        context=_context(audit, sections),
        enclosures=(Enclosure("audit.json", sealed, "The findings and their outcome as data"),),
    )


def as_data(audit: Audit, sections: list[Section], delivered_at: datetime) -> dict[str, Any]:
    """Serialise the audit (schema twofold.audit/2) for programs.

    `computed` is the finding from evidence, None without one.
    """
    counted = rules.tally([section.row for section in sections])
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
        "passes_found": counted.passes_found,
        "thresholds": audit.thresholds,
        "findings": [_as_data(section) for section in sections],
        "evidence": [
            {"name": file.name, "digest": file.digest, "size_bytes": file.size_bytes}
            for file in exhibits.files_of(audit, set())
        ],
    }


def _as_data(section: Section) -> dict[str, Any]:
    row = section.row
    override = {
        "outcome": row.override_outcome,
        "reason": row.override_reason,
        "by": str(row.overridden_by),
        "confirmed_by": str(row.override_confirmed_by),
    }
    return {
        "check": row.check_name,
        "outcome": row.outcome,
        "value": row.value,
        "rationale": row.rationale,
        "computed": row.computed,
        "override": override if row.is_overridden else None,
    }


def context_of(audit: Audit, sections: list[Section]) -> dict[str, Any]:
    """Return the context that the page and the document share."""
    counted = rules.tally([section.row for section in sections])
    outcome = Audit.Outcome(counted.outcome)
    used = {source.digest for section in sections for source in section.sources if source.digest}
    return {
        "engagement": audit.engagement,
        "audit": audit,
        "cost": money.format_money(audit.cost, audit.currency),
        "outcome_text": OUTCOME_TEXTS[outcome],
        "counted": counted,
        "outcome_found": OUTCOME_TEXTS[Audit.Outcome(counted.outcome_found)],
        "sections": sections,
        "tone": TONE,
        "verdict": audit.computed_verdict,
        "suggestions": SUGGESTIONS if outcome != Audit.Outcome.CUSTOM else (),
        "files": exhibits.files_of(audit, used),
        "answers": exhibits.answers_of(audit),
        "changed_thresholds": exhibits.changed_thresholds(sections[0].thresholds),
    }


def _context(audit: Audit, sections: list[Section]) -> dict[str, Any]:
    assert audit.delivered_at is not None
    return {
        **context_of(audit, sections),
        "consultancy": formatting.party(settings.CONSULTANCY),
        "customer": formatting.customer(audit.engagement.customer),
        "delivered_on": in_words(audit.delivered_at),
    }
