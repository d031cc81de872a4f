"""The audit: six findings, their overrides, and the outcome that they amount to."""

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
from engagements.audit.rules import Outcome
from engagements.audit.unbilled import WITHOUT_A_CONTRACT, unbilled_audits
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
TOLD_AS = {
    Audit.Outcome.CUSTOM: "custom kernel work may be right",
    Audit.Outcome.REDIRECT: "cheaper interventions promise more than a custom kernel",
    Audit.Outcome.DECLINE: "custom kernel work is not worth it here",
}


@transaction.atomic
def start(*, engagement: Engagement, cost: Decimal, currency: str, by: User) -> Audit:
    """Start the audit: its six findings are there from now on, all of them unknown.

    `cost` is net, in `currency`. Started twice with the same cost, nothing changes.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    cost = validation.amount(cost, currency, noun="The audit's cost")
    started = Audit.objects.filter(engagement=row).first()
    if (
        started
        and row.stage == Stage.AUDITING
        and (started.cost, started.currency)
        == (
            cost,
            currency,
        )
    ):
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
        summary="The audit was started: six checks before anything is promised.",
        actor=by,
        changes=stages.move(row, Stage.AUDITING),
        for_customer=True,
    )
    return audit


@transaction.atomic
def record_finding(
    *, audit: Audit, check: str, outcome: str, value: str, rationale: str, by: User
) -> Finding:
    """Answer one check by hand, where the evidence does not. `unknown` may stand without a value.

    Refused where the check was computed to pass or fail: that is overridden, with the reason. An
    override was about the finding before, so it goes when the finding itself changes.
    """
    row = _open_audit(audit, by)
    description = _check(check)
    if outcome not in FindingOutcome.values:
        raise ApplicationError(f"{outcome!r} is no outcome of a check.", code="audit.todo")
    value = description.validate(value, outcome)
    rationale = rationale.strip()
    if outcome != FindingOutcome.UNKNOWN and not rationale:
        raise ApplicationError(
            f"“{description.question}” wants a rationale beside its value.", code="audit.todo"
        )
    finding = row.findings.get(check_name=description.name)
    _refuse_where_computed(finding, description)
    before = (finding.outcome, finding.value, finding.rationale)
    if finding.found_at and before == (outcome, value, rationale):
        return finding
    changes = {"outcome": [finding.outcome, outcome], "value": [finding.value, value]}
    if finding.override_outcome:
        changes["override_outcome"] = [finding.override_outcome, ""]
    finding.outcome, finding.value, finding.rationale = outcome, value, rationale
    finding.override_outcome, finding.override_reason = "", ""
    finding.overridden_by = None
    finding.found_by, finding.found_at = by, timezone.now()
    validation.save_validated(finding)
    _count_again(row, by)
    events.record(
        engagement=row.engagement,
        verb="audit.finding_recorded",
        summary=f"{description.question} {FindingOutcome(outcome).label}.",
        actor=by,
        changes={"check": description.name.value} | changes,
    )
    return finding


@transaction.atomic
def override_finding(*, finding: Finding, outcome: str, reason: str, by: User) -> Finding:
    """Let another outcome count than the one found, with the reason. Both are shown."""
    row = _open_audit(finding.audit, by)
    finding = row.findings.get(pk=finding.pk)
    description = _check(finding.check_name)
    if outcome not in FindingOutcome.values:
        raise ApplicationError(f"{outcome!r} is no outcome of a check.", code="audit.todo")
    reason = validation.text(reason, noun="The reason for the override")
    if finding.found_at is None:
        raise ApplicationError(
            f"“{description.question}” has no finding yet that could be overridden.",
            code="audit.todo",
        )
    if outcome == finding.outcome:
        raise ApplicationError(
            f"“{description.question}” was found to be {outcome} already.", code="audit.todo"
        )
    if (finding.override_outcome, finding.override_reason) == (outcome, reason):
        return finding
    before = finding.effective_outcome
    finding.override_outcome, finding.override_reason = outcome, reason
    finding.overridden_by = by
    validation.save_validated(finding)
    _count_again(row, by)
    label = FindingOutcome(outcome).label.lower()
    events.record(
        engagement=row.engagement,
        verb="audit.finding_overridden",
        summary=f"{description.question} Counted as {label}: {reason}",
        actor=by,
        changes={
            "check": description.name.value,
            "effective_outcome": [before, outcome],
            "reason": reason,
        },
    )
    return finding


def outcomes_of(findings: Iterable[Finding]) -> str:
    """What counts of each finding, as a page sends back what it showed: hot=pass,stable=fail…"""
    return ",".join(sorted(f"{row.check_name}={row.effective_outcome}" for row in findings))


@transaction.atomic
def deliver(*, audit: Audit, by: User, seen: str | None = None) -> Audit:
    """Compute the outcome, fix it, and move the engagement where it says, for good.

    `seen` is the `outcomes_of` the findings that `by` was shown: refused where they are others,
    by somebody else's word or by evidence that was read since.
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
            f"Not answered yet, not even with unknown: {' '.join(missing)}", code="audit.todo"
        )
    if seen is not None and seen != outcomes_of(findings):
        raise ApplicationError(
            "The findings have changed since you looked: look at them again.", code="audit.todo"
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
        f"{TOLD_AS[outcome]}.",
        actor=by,
        changes={**changes, "outcome": outcome.value, "passes": tally.passes},
        for_customer=True,
    )
    postings.audit_delivered(row, dated_on=timezone.localdate())
    enqueue("issue_document", "audit_report", f"audit:{row.pk}")
    return row


@transaction.atomic
def waive(*, audit: Audit, reason: str, by: User) -> Audit:
    """Ask no more for an audit that ended without a contract: it was billed outside, or given up.

    Done already, nothing changes.
    """
    engagement = stages.locked(audit.engagement_id)
    require_finance(by)
    why = validation.text(reason, noun="Why it is owed no more")
    stages.require_stage(engagement, *WITHOUT_A_CONTRACT, to="for its audit to be waived")
    row = unbilled_audits().filter(pk=audit.pk).first()
    if row is None:
        return audit
    events.record(
        engagement=engagement,
        verb="audit.waived",
        summary=f"Nothing is asked for the audit any more: {why}",
        actor=by,
        changes={"audit": row.pk, "cost": str(row.cost), "reason": why},
    )
    postings.audit_waived(row)
    return row


def _open_audit(audit: Audit, by: User) -> Audit:
    """The audit under the engagement's lock, refused once it is delivered."""
    engagement = stages.locked(audit.engagement_id)
    access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITING, to="for its findings to change")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return row


def _refuse_where_computed(finding: Finding, description: checks.Description) -> None:
    computed = finding.computed_finding
    if computed is not None and computed.outcome != Outcome.UNKNOWN:
        raise ApplicationError(
            f"“{description.question}” was computed from the evidence: {computed.outcome.label}. "
            "Where this case is different, override it with the reason.",
            code="audit.todo",
        )


def _count_again(audit: Audit, by: User) -> None:
    """What was computed from evidence is computed again with a person's word counted."""
    if audit.computed_from:
        computing.write(audit=audit, by=by)


def _check(name: str) -> checks.Description:
    try:
        return checks.check(name)
    except ValueError as error:
        raise ApplicationError(f"{name!r} is none of the six checks.", code="audit.todo") from error
