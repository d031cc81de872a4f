"""The subject of an audit: its operator, needs, work, estimates and thresholds.

Every change is recorded, and the findings are recomputed with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction

from engagements import access
from engagements.audit import findings
from engagements.audit.audit_inputs import inputs_of, subject_of
from engagements.audit.models import Audit
from engagements.audit.rules import Interval, Needs, Operator, Tried, Verdict, Work
from engagements.audit.rules import subject as subjects
from engagements.audit.rules import thresholds as lines
from engagements.audit.rules.subject import Subject, Summed
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.engagement import stages
from engagements.engagement.models import Stage
from engagements.event_log import events
from engagements.evidence.models import Evidence
from engagements.evidence.readers import TraceFacts, patterns
from engagements.evidence.services import live, read_with
from engagements.people.models import User


@transaction.atomic
def choose_operator(
    *, audit: Audit, operator: Operator | None, by: User, trace: str | None = None
) -> Verdict:
    """Set the kernels under audit; None takes the hottest of the trace. `trace` is a digest."""
    if operator is not None and operator.kind == "pattern":
        patterns.validate(operator.pattern or "")
    summary = f"Operator under audit: {operator.name}." if operator else "No operator is chosen."
    return _set(_open(audit, by), by, summary, operator=operator, trace=trace)


@transaction.atomic
def choose_traffic(*, audit: Audit, traffic: str | None, by: User) -> Verdict:
    """Set the shape log by its digest; None takes the newest."""
    row = _open(audit, by)
    logs = Evidence.objects.filter(engagement=row.engagement, format=Evidence.Format.TRAFFIC)
    if traffic is not None and not logs.filter(digest=traffic).exists():
        raise ApplicationError(
            "Choose a shape log of this engagement.", code="audit.traffic_unknown"
        )
    return _set(row, by, "The shape log was chosen.", traffic=traffic)


@transaction.atomic
def set_needs(*, audit: Audit, needs: Needs | None, by: User) -> Verdict:
    """Set the needs of the operator."""
    return _set(_open(audit, by), by, "The operator's needs were set.", needs=needs)


@transaction.atomic
def set_work(*, audit: Audit, work: Work | None, by: User) -> Verdict:
    """Set the weeks of work and the fee of the kernel."""
    if work is not None:
        if not 0 < work.weeks <= 520:
            raise ApplicationError(
                "Enter at most 520 weeks of work.",
                code="audit.weeks_out_of_range",
            )
        if (work.fee is None) != (work.currency is None):
            raise ApplicationError(
                "Enter the fee together with its currency.", code="audit.fee_without_currency"
            )
        if work.fee is not None and work.currency is not None:
            fee = validation.amount(work.fee, work.currency, noun="The fee")
            work = replace(work, fee=fee)
    return _set(_open(audit, by), by, "The work was estimated.", work=work)


@transaction.atomic
def record_tried(*, audit: Audit, tried: Tried, by: User) -> Verdict:
    """Record how a library compares with the needs; the newest record counts."""
    library = validation.text(tried.library, noun="The library's name")
    row = _open(audit, by)
    before = subject_of(row).tried
    others = tuple(each for each in before if each.library != library)
    kept = (*others, replace(tried, library=library))
    return _set(row, by, f"{library} was compared with the needs.", tried=kept)


@transaction.atomic
def forget_tried(*, audit: Audit, library: str, by: User) -> Verdict:
    """Remove the record of a library."""
    row = _open(audit, by)
    before = subject_of(row).tried
    kept = tuple(each for each in before if each.library != library)
    return _set(row, by, f"{library} is no longer counted as tried.", tried=kept)


@transaction.atomic
def set_estimates(
    *,
    audit: Audit,
    by: User,
    share: float | None = None,
    kernel_speedup: Interval | None = None,
    end_to_end: Interval | None = None,
) -> Verdict:
    """Set estimates for missing evidence: shown as stated, superseded by measurements."""
    if share is not None and not 0 < share <= 1:
        raise ApplicationError(
            "Enter a share above 0% and up to 100%.",
            code="audit.share_out_of_range",
        )
    for ratio in (kernel_speedup, end_to_end):
        if ratio is not None and not 0 < ratio.low <= ratio.high <= 10_000:
            raise ApplicationError(
                "Enter a speedup from its lower to its higher ratio, above 0 and up to 10,000.",
                code="audit.speedup_out_of_range",
            )
    return _set(
        _open(audit, by),
        by,
        "Estimates were set.",
        share=share,
        kernel_speedup=kernel_speedup,
        end_to_end=end_to_end,
    )


@transaction.atomic
def set_thresholds(*, audit: Audit, changes: dict[str, Any], by: User) -> Verdict:
    """Set this engagement's thresholds; those left out keep their defaults."""
    row = _open(audit, by)
    try:
        data = lines.as_data(lines.from_data(changes))
    except ValueError as error:
        raise ApplicationError(
            f"Correct the thresholds: {error}", code="audit.threshold_invalid"
        ) from error
    if row.thresholds != data:
        before, row.thresholds = row.thresholds, data
        validation.save_validated(row)
        events.record(
            engagement=row.engagement,
            verb="audit.thresholds_set",
            summary="The thresholds of the checks were set for this engagement.",
            actor=by,
            changes={"thresholds": [before, data]},
        )
    return findings.write(audit=row, by=by)


def _set(row: Audit, by: User, summary: str, **changes: Any) -> Verdict:
    """Change the subject of an open audit; a repeated change does nothing."""
    before = row.subject
    subject: Subject = replace(subject_of(row), **changes)
    row.subject = subjects.as_data(subject)
    if row.subject != before:
        validation.save_validated(row)
        differing = sorted(set(before) | set(row.subject))
        events.record(
            engagement=row.engagement,
            verb="audit.subject_set",
            summary=summary,
            actor=by,
            changes={
                key: [before.get(key), row.subject.get(key)]
                for key in differing
                if before.get(key) != row.subject.get(key)
            },
        )
    return findings.write(audit=row, by=by)


def _open(audit: Audit, by: User) -> Audit:
    """Lock the audit's engagement and reload the audit. Declines unless it is being audited."""
    engagement = stages.locked(audit.engagement_id)
    access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITING, to="for its audit to change")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return row


def patterns_of(engagement_id: int) -> dict[str, str]:
    """Return the operator's kernel name pattern by its name; empty without one."""
    audit = Audit.objects.filter(engagement=engagement_id).first()
    operator = subject_of(audit).operator if audit else None
    if operator is None or operator.kind != "pattern" or not operator.pattern:
        return {}
    return {operator.name: operator.pattern}


def sum_exactly(*, audit: Audit) -> bool:
    """Reread the profile to sum the operator's pattern, and recompute. False if not needed.

    Reads outside the lock, so a newer choice of the operator is kept. EvidenceError when the
    file cannot be read.
    """
    subject, trace = subject_of(audit), inputs_of(audit).trace
    operator = subject.operator
    if operator is None or operator.kind != "pattern" or not operator.pattern or trace is None:
        return False
    digest = trace.source.digest
    if digest is None or _is_summed(subject, digest):
        return False
    row = live(audit.engagement).get(digest=digest)
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
