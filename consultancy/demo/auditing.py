"""The demonstration's audits: computed from evidence where there is any, else by hand."""

from __future__ import annotations

from consultancy.demo import dossier, waiting
from consultancy.demo.chapters import Chapter
from engagements.audit import Work
from engagements.models import Audit, Check, Engagement, Finding, FindingOutcome, User
from engagements.services import audits


def examine(
    chapter: Chapter, *, engagement: Engagement, asked: User, by: User, patience: waiting.Patience
) -> int:
    """Audit and deliver; returns how many checks pass. `asked` answers for the customer."""
    audit = audits.start(
        engagement=engagement, cost=chapter.audit_cost, currency=chapter.client.currency, by=by
    )
    if chapter.dossier is not None:
        dossier.hand_in(chapter.dossier, engagement=engagement, asked=asked, by=by)
        waiting.for_evidence(engagement, patience=patience)
        work = Work(weeks=chapter.weeks, fee=chapter.fee, currency=chapter.client.currency)
        dossier.set_subject(chapter.dossier, audit=audit, work=work, by=by)
    _by_hand(chapter, audit=audit, by=by)
    audits.deliver(audit=Audit.objects.get(pk=audit.pk), by=by)
    return Finding.objects.filter(audit=audit, outcome=FindingOutcome.PASS).count()


def _by_hand(chapter: Chapter, *, audit: Audit, by: User) -> None:
    for check, (outcome, value, rationale) in chapter.findings.items():
        audits.record_finding(
            audit=audit,
            check=Check(check),
            outcome=FindingOutcome(outcome),
            value=value,
            rationale=rationale,
            by=by,
        )
