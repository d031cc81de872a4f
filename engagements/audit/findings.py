"""The six checks of an audit, computed from its evidence and its answers.

Computed as often as one likes: the same evidence gives the same findings and changes nothing.
What was computed leads; a person's word counts where the computation says unknown.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements import access
from engagements.audit.inputs import case_of, fingerprint_of, has_something
from engagements.audit.models import Audit, Finding
from engagements.audit.rules import finding as computed_findings
from engagements.audit.rules import verdict as verdicts
from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.case import Case
from engagements.audit.rules.figures import HotFigures
from engagements.audit.rules.finding import Finding as Computed
from engagements.audit.rules.words import Check, Outcome
from engagements.common import validation
from engagements.common.queue import enqueue
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

VALUE_CHARACTERS = 200


@transaction.atomic
def compute(*, audit: Audit, by: User | None = None) -> Verdict:
    """Compute the six findings from what is known now, and keep them. The verdict they give.

    Refused once the audit is delivered. Without `by` the application does it.
    """
    engagement = stages.locked(audit.engagement_id)
    if by is not None:
        access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITING, to="for its findings to be computed")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return write(audit=row, by=by)


def write(*, audit: Audit, by: User | None) -> Verdict:
    """Compute and keep, under the engagement's lock that the caller holds."""
    case = case_of(audit)
    verdict = verdicts.examine(case)
    changes: dict[str, list[str]] = {}
    for found in verdict.findings:
        row = audit.findings.get(check_name=found.check)
        before = (row.outcome, row.override_outcome)
        if _keep(row, found):
            changes |= _difference(row, before)
    verdict = _with_overrides(case, verdict, list(audit.findings.all()))
    audit.computed_at, audit.computed_from = timezone.now(), fingerprint_of(audit)
    audit.verdict = verdicts.as_data(verdict)
    validation.save_validated(audit)
    if _is_bounded(verdict):
        enqueue("sum_operator", audit.pk)
    if changes:
        events.record(
            engagement=audit.engagement,
            verb="audit.computed",
            summary=f"The checks were computed from the evidence. {verdict.sentence}",
            actor=by,
            changes=changes,
        )
    return verdict


def verdict_of(audit: Audit) -> Verdict | None:
    """The verdict as it was computed last, overrides counted; None before.

    A delivered audit's is the one that it was delivered with.
    """
    return audit.computed_verdict


@transaction.atomic
def compute_when_due(*, engagement: Engagement) -> bool:
    """Compute anew if an audit is under way and knows something that was not looked at."""
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
    """Whether something is known that the findings were not computed from."""
    return has_something(audit) and audit.computed_from != fingerprint_of(audit)


def under_way() -> QuerySet[Engagement]:
    """Engagements whose audit may be due."""
    return Engagement.objects.filter(stage=Stage.AUDITING, audit__isnull=False)


def _is_bounded(verdict: Verdict) -> bool:
    """Whether the operator's share is known between two bounds alone: a pattern, not summed yet."""
    hot = next(found.figures for found in verdict.findings if found.check == Check.HOT)
    return isinstance(hot, HotFigures) and hot.share_of_wall.low < hot.share_of_wall.high


def _keep(row: Finding, found: Computed) -> bool:
    """Keep what was computed; whether anything changed.

    A person's answer gives way to a pass or a fail and stays where the check says unknown. An
    override was about another outcome once the outcome changes, so it goes with it.
    """
    data = computed_findings.as_data(found)
    leads = found.outcome != Outcome.UNKNOWN or not row.is_by_hand
    if row.computed == data and (not leads or row.found_at is not None):
        return False
    if leads:
        if row.override_outcome and row.outcome != found.outcome:
            row.override_outcome, row.override_reason, row.overridden_by = "", "", None
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


def _effective(findings: list[Finding]) -> dict[Check, Outcome]:
    return {Check(row.check_name): Outcome(row.effective_outcome) for row in findings}


def _with_overrides(case: Case, verdict: Verdict, findings: list[Finding]) -> Verdict:
    """The verdict again, with what a person overrode or answered where evidence is silent."""
    outcomes = _effective(findings)
    computed = {found.check: found for found in verdict.findings}
    if all(outcomes[check] == found.outcome for check, found in computed.items()):
        return verdict
    return verdicts.conclude(case, computed, [outcomes[check] for check in computed])
