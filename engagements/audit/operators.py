"""The kernels of an operator that was chosen by a name pattern, summed exactly."""

from __future__ import annotations

from dataclasses import replace

from django.db import transaction

from engagements.audit import findings
from engagements.audit.inputs import case_of, subject_of
from engagements.audit.models import Audit
from engagements.audit.rules import subject as subjects
from engagements.audit.rules.subject import Subject, Summed
from engagements.common import validation
from engagements.engagement import stages
from engagements.engagement.models import Stage
from engagements.evidence.models import Evidence
from engagements.evidence.readers import TraceFacts
from engagements.evidence.services import read_with


def patterns_of(engagement_id: int) -> dict[str, str]:
    """Return the kernel name pattern of the audit's operator by its name; empty without one."""
    audit = Audit.objects.filter(engagement=engagement_id).first()
    operator = subject_of(audit).operator if audit else None
    if operator is None or operator.kind != "pattern" or not operator.pattern:
        return {}
    return {operator.name: operator.pattern}


def sum_exactly(*, audit: Audit) -> bool:
    """Read the profile again for the operator's pattern, and compute with the sum.

    Whether there was anything to do. The reading takes its time and happens outside the lock, so
    what was chosen otherwise in the meantime stays. EvidenceError when it cannot be read.
    """
    subject, trace = subject_of(audit), case_of(audit).trace
    operator = subject.operator
    if operator is None or operator.kind != "pattern" or not operator.pattern or trace is None:
        return False
    digest = trace.source.digest
    if digest is None or _is_summed(subject, digest):
        return False
    row = Evidence.objects.get(engagement=audit.engagement, digest=digest)
    facts = read_with(evidence=row, patterns={operator.name: operator.pattern})
    if not isinstance(facts, TraceFacts):
        return False
    return _keep(audit, subject, Summed(trace=digest, group=facts.patterns[0]))


def _is_summed(subject: Subject, digest: str) -> bool:
    summed, operator = subject.summed, subject.operator
    if summed is None or operator is None or summed.trace != digest:
        return False
    return (summed.group.name, summed.group.pattern) == (operator.name, operator.pattern)


@transaction.atomic
def _keep(audit: Audit, before: Subject, summed: Summed) -> bool:
    engagement = stages.locked(audit.engagement_id)
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    subject = subject_of(row)
    if engagement.stage != Stage.AUDITING or subject.operator != before.operator:
        return False
    row.subject = subjects.as_data(replace(subject, summed=summed))
    validation.save_validated(row)
    findings.write(audit=row, by=None)
    return True
