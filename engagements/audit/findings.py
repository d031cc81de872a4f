"""Compute the findings of an audit from its evidence and answers. Idempotent.

A computed pass or fail replaces a recorded finding; a recorded finding counts where the
computation is unknown.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements import access
from engagements.audit.audit_inputs import fingerprint_of, has_something, inputs_of
from engagements.audit.models import Audit, Finding
from engagements.audit.rules import finding as computed_findings
from engagements.audit.rules import hot as hot_check
from engagements.audit.rules import verdict as verdicts
from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.finding import Finding as Computed
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.common import validation
from engagements.common.queue import enqueue
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

VALUE_CHARACTERS = 200


@transaction.atomic
def compute(*, audit: Audit, by: User | None = None) -> Verdict:
    """Compute and store the findings; return the verdict.

    Declines once the audit is delivered. Without `by`, the application is the actor.
    """
    engagement = stages.locked(audit.engagement_id)
    if by is not None:
        access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITING, to="for its findings to be computed")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return write(audit=row, by=by)


def write(*, audit: Audit, by: User | None) -> Verdict:
    """Compute and store the findings. The caller holds the engagement's lock."""
    inputs = inputs_of(audit)
    verdict = verdicts.examine(inputs)
    changes: dict[str, list[str]] = {}
    for found in verdict.findings:
        row = audit.findings.get(check_name=found.check)
        before = (row.outcome, row.override_outcome)
        if _keep(row, found):
            changes |= _difference(row, before)
    verdict = _with_overrides(inputs, verdict, list(audit.findings.all()))
    audit.computed_at, audit.computed_from = timezone.now(), fingerprint_of(audit)
    audit.verdict = verdicts.as_data(verdict)
    validation.save_validated(audit)
    if _is_bounded(verdict):
        enqueue("sum_operator", audit.pk)
    if changes:
        events.record(
            engagement=audit.engagement,
            verb="audit.computed",
            summary=f"The findings were computed from evidence. {verdict.sentence}",
            actor=by,
            changes=changes,
        )
    return verdict


def verdict_of(audit: Audit) -> Verdict | None:
    """Return the latest computed verdict, overrides counted; None without one."""
    return audit.computed_verdict


@transaction.atomic
def compute_when_due(*, engagement: Engagement) -> bool:
    """Compute the findings if the audit is under way and its inputs changed."""
    row = stages.locked(engagement.pk)
    audit = Audit.objects.filter(engagement=row).first()
    if audit is None or row.stage != Stage.AUDITING:
        return False
    audit.engagement = row
    if not is_due(audit):
        return False
    write(audit=audit, by=None)
    return True


def is_due(audit: Audit) -> bool:
    """Whether the inputs changed since the findings were computed."""
    return has_something(audit) and audit.computed_from != fingerprint_of(audit)


def under_way() -> QuerySet[Engagement]:
    """Engagements whose audit may be due."""
    return Engagement.objects.filter(stage=Stage.AUDITING, audit__isnull=False)


def _is_bounded(verdict: Verdict) -> bool:
    """Whether the operator is a pattern whose share is bounded, not summed."""
    hot = next(found.figures for found in verdict.findings if found.check == hot_check.NAME)
    return isinstance(hot, hot_check.HotFigures) and hot.share_of_wall.low < hot.share_of_wall.high


def _keep(row: Finding, found: Computed) -> bool:
    """Store a computed finding; return whether the row changed.

    A computed pass or fail replaces a recorded finding, an unknown does not. A changed outcome
    loses its override.
    """
    data = computed_findings.as_data(found)
    leads = found.outcome != Outcome.UNKNOWN or not row.is_by_hand
    if row.computed == data and (not leads or row.found_at is not None):
        return False
    if leads:
        if row.override_outcome and row.outcome != found.outcome:
            row.clear_override()
        row.outcome = found.outcome.value
        row.value = (found.shown or found.outcome.label)[:VALUE_CHARACTERS]
        row.rationale = found.paragraph
        row.found_by, row.found_at = None, timezone.now()
    row.computed = data
    validation.save_validated(row)
    return True


def _difference(row: Finding, before: tuple[str, str]) -> dict[str, list[str]]:
    outcome, override = before
    changes = {}
    if outcome != row.outcome:
        changes[row.check_name] = [outcome, row.outcome]
    if override != row.override_outcome:
        changes[f"{row.check_name} override"] = [override, row.override_outcome]
    return changes


def _effective(findings: list[Finding]) -> dict[str, Outcome]:
    return {row.check_name: Outcome(row.effective_outcome) for row in findings}


def _with_overrides(inputs: AuditInputs, verdict: Verdict, findings: list[Finding]) -> Verdict:
    """Return the verdict with overrides and recorded findings counted."""
    outcomes = _effective(findings)
    computed = {found.check: found for found in verdict.findings}
    if all(outcomes[check] == found.outcome for check, found in computed.items()):
        return verdict
    return verdicts.conclude(inputs, computed, [outcomes[check] for check in computed])
