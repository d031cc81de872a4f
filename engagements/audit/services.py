"""Start an audit, record its findings, deliver it."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_finance
from engagements.audit import findings as computing
from engagements.audit import postings
from engagements.audit import rules as checks
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.queries import WITHOUT_A_CONTRACT, unbilled_audits
from engagements.audit.rules import Outcome
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

STAGE_AFTER = {
    Audit.Outcome.CUSTOM: Stage.AUDITED,
    Audit.Outcome.REDIRECT: Stage.REDIRECTED,
    Audit.Outcome.DECLINE: Stage.DECLINED,
}
OUTCOME_IN_WORDS = {
    Audit.Outcome.CUSTOM: "custom kernel work may be right",
    Audit.Outcome.REDIRECT: "cheaper interventions gain more than a custom kernel",
    Audit.Outcome.DECLINE: "custom kernel work is not worth it here",
}


@transaction.atomic
def start(*, engagement: Engagement, cost: Decimal, currency: str, by: User) -> Audit:
    """Start the audit with a finding a check, computed from the evidence so far. Idempotent.

    `cost` is net, in `currency`.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    cost = validation.amount(cost, currency, noun="The audit's cost")
    started = Audit.objects.filter(engagement=row).first()
    is_repeated = started and (started.cost, started.currency) == (cost, currency)
    if started and is_repeated and row.stage == Stage.AUDITING:
        return started
    stages.require_stage(row, Stage.SCOPING, to="to be audited")
    audit = Audit(engagement=row, cost=cost, currency=currency)
    validation.save_validated(audit)
    Finding.objects.bulk_create(
        Finding(audit=audit, check_name=check.name) for check in checks.CHECKS
    )
    events.record(
        engagement=row,
        verb="audit.started",
        summary=f"The audit was started, with {len(checks.CHECKS)} checks.",
        actor=by,
        changes=stages.move(row, Stage.AUDITING),
        for_customer=True,
    )
    if computing.has_something(audit):
        computing.write(audit=audit, by=by)
    return audit


@transaction.atomic
def record_finding(
    *, audit: Audit, check: str, outcome: str, value: str, rationale: str, by: User
) -> Finding:
    """Record the finding of a check that the evidence leaves open.

    `unknown` requires no value. Declines when the check was computed as pass or fail: override it
    instead. A changed finding loses its override.
    """
    row = open_audit(audit, by)
    description = check_of(check)
    if outcome not in FindingOutcome.values:
        raise ApplicationError("Choose pass, fail or unknown.", code="audit.outcome_unknown")
    value = description.validate(value, outcome)
    rationale = rationale.strip()
    if outcome != FindingOutcome.UNKNOWN and not rationale:
        raise ApplicationError(
            f"Enter a rationale for “{description.question}”",
            code="audit.rationale_missing",
        )
    finding = row.findings.get(check_name=description.name)
    _require_open(finding, description)
    before = (finding.outcome, finding.value, finding.rationale)
    if finding.found_at and before == (outcome, value, rationale):
        return finding
    changes = {"outcome": [finding.outcome, outcome], "value": [finding.value, value]}
    if finding.override_outcome:
        changes["override_outcome"] = [finding.override_outcome, ""]
    finding.outcome, finding.value, finding.rationale = outcome, value, rationale
    finding.clear_override()
    finding.found_by, finding.found_at = by, timezone.now()
    validation.save_validated(finding)
    count_again(row, by)
    events.record(
        engagement=row.engagement,
        verb="audit.finding_recorded",
        summary=f"{description.question} {FindingOutcome(outcome).label}.",
        actor=by,
        changes={"check": description.name} | changes,
    )
    return finding


def outcomes_of(findings: Iterable[Finding]) -> str:
    """Serialise the outcomes that count, for `deliver`: hot=pass,stable=fail…"""
    return ",".join(sorted(f"{row.check_name}={row.effective_outcome}" for row in findings))


@transaction.atomic
def deliver(*, audit: Audit, by: User, expected_outcomes: str | None = None) -> Audit:
    """Fix the outcome of the audit, and move the engagement to its stage.

    `expected_outcomes` is `outcomes_of` the findings that `by` saw. Declines where they changed
    since, through another person or through newer evidence.
    """
    engagement = stages.locked(audit.engagement_id)
    access.require_consultant(by)
    row = Audit.objects.get(pk=audit.pk)
    if row.delivered_at:
        return row
    stages.require_stage(engagement, Stage.AUDITING, to="for its audit to be delivered")
    row.engagement = engagement
    if computing.is_due(row):
        computing.write(audit=row, by=by)
    findings = list(row.findings.all())
    missing = [
        checks.check(finding.check_name).question for finding in findings if not finding.found_at
    ]
    if missing:
        raise ApplicationError(
            f"Record a finding, or unknown, for: {' '.join(missing)}",
            code="audit.findings_missing",
        )
    if any(finding.is_override_open for finding in findings):
        raise ApplicationError(
            "Confirm or withdraw the open override before you deliver the audit.",
            code="audit.override_open",
        )
    if expected_outcomes not in (None, outcomes_of(findings)):
        raise ApplicationError(
            "The findings changed while you were looking; review them again.",
            code="audit.findings_changed",
        )
    tally = checks.tally(findings)
    outcome = Audit.Outcome(tally.outcome)
    row.outcome, row.delivered_at = outcome, timezone.now()
    validation.save_validated(row)
    changes = stages.move(engagement, STAGE_AFTER[outcome])
    events.record(
        engagement=engagement,
        verb="audit.delivered",
        summary=f"The audit was delivered: {tally.passes} of {len(findings)} checks pass, "
        f"{OUTCOME_IN_WORDS[outcome]}.",
        actor=by,
        changes={**changes, "outcome": outcome.value, "passes": tally.passes},
        for_customer=True,
    )
    postings.audit_delivered(row, dated_on=timezone.localdate())
    enqueue("issue_document", "audit_report", f"audit:{row.pk}")
    return row


@transaction.atomic
def waive(*, audit: Audit, reason: str, by: User) -> Audit:
    """Write off an audit that ended without a contract: billed elsewhere, or waived. Idempotent."""
    engagement = stages.locked(audit.engagement_id)
    require_finance(by)
    why = validation.text(reason, noun="The reason for the write-off")
    stages.require_stage(engagement, *WITHOUT_A_CONTRACT, to="for its audit to be waived")
    row = unbilled_audits().filter(pk=audit.pk).first()
    if row is None:
        return audit
    events.record(
        engagement=engagement,
        verb="audit.waived",
        summary=f"The audit was written off: {why}",
        actor=by,
        changes={"audit": row.pk, "cost": str(row.cost), "reason": why},
    )
    postings.audit_waived(row)
    return row


def open_audit(audit: Audit, by: User) -> Audit:
    """Lock the engagement and reload the audit. Declines unless it is being audited."""
    engagement = stages.locked(audit.engagement_id)
    access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITING, to="for its findings to change")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return row


def _require_open(finding: Finding, description: checks.Check) -> None:
    computed = finding.computed_finding
    if computed is not None and computed.outcome != Outcome.UNKNOWN:
        raise ApplicationError(
            f"“{description.question}” was computed from evidence: {computed.outcome.label}. "
            "Override it with your reason.",
            code="audit.finding_computed",
        )


def count_again(audit: Audit, by: User) -> None:
    """Recompute a computed audit with the changed finding."""
    if audit.computed_from:
        computing.write(audit=audit, by=by)


def check_of(name: str) -> checks.Check:
    try:
        return checks.check(name)
    except ValueError as error:
        raise ApplicationError(f"Unknown check {name!r}.", code="audit.check_unknown") from error
