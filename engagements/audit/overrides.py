"""Override a finding: one consultant proposes, another confirms. Both outcomes stay visible."""

from __future__ import annotations

from django.db import transaction

from engagements.audit.models import Finding, FindingOutcome
from engagements.audit.services import check_of, count_again, open_audit
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.event_log import events
from engagements.people.models import User


@transaction.atomic
def propose(*, finding: Finding, outcome: str, reason: str, by: User) -> Finding:
    """Propose to override a finding, with the reason. Replaces an earlier override."""
    row = open_audit(finding.audit, by)
    finding = row.findings.get(pk=finding.pk)
    description = check_of(finding.check_name)
    if outcome not in FindingOutcome.values:
        raise ApplicationError("Choose pass, fail or unknown.", code="audit.outcome_unknown")
    reason = validation.text(reason, noun="The reason for the override")
    if finding.found_at is None:
        raise ApplicationError(
            f"Record a finding for “{description.question}” before you override it.",
            code="audit.finding_missing",
        )
    if outcome == finding.outcome:
        raise ApplicationError(
            f"“{description.question}” is {outcome} without an override.",
            code="audit.same_outcome",
        )
    if (finding.override_outcome, finding.override_reason) == (outcome, reason):
        return finding
    before = finding.effective_outcome
    finding.clear_override()
    finding.override_outcome, finding.override_reason = outcome, reason
    finding.overridden_by = by
    _save(finding, "proposed", by, before)
    return finding


@transaction.atomic
def confirm(*, finding: Finding, by: User, expected: str | None = None) -> Finding:
    """Confirm a proposed override, which then counts. Idempotent.

    `expected` is the outcome that `by` saw; declines where another was proposed since.
    """
    row = open_audit(finding.audit, by)
    finding = row.findings.get(pk=finding.pk)
    if not finding.override_outcome or expected not in (None, finding.override_outcome):
        raise ApplicationError(
            "This override changed while you were looking; review it again.",
            code="audit.override_changed",
        )
    if finding.is_overridden:
        return finding
    if finding.overridden_by == by:
        raise ApplicationError(
            "You proposed this override: another consultant confirms it.",
            code="audit.override_same_person",
        )
    before = finding.effective_outcome
    finding.override_confirmed_by = by
    _save(finding, "overridden", by, before)
    return finding


@transaction.atomic
def withdraw(*, finding: Finding, by: User) -> Finding:
    """Remove an override, proposed or confirmed. Idempotent."""
    row = open_audit(finding.audit, by)
    finding = row.findings.get(pk=finding.pk)
    if not finding.override_outcome:
        return finding
    before, reason = finding.effective_outcome, finding.override_reason
    finding.clear_override()
    _save(finding, "override_withdrawn", by, before, reason=reason)
    return finding


_SUMMARIES = {
    "proposed": "An override to {outcome} was proposed: {reason}",
    "overridden": "Counted as {outcome}: {reason}",
    "override_withdrawn": "The override was withdrawn.",
}


def _save(finding: Finding, step: str, by: User, before: str, *, reason: str = "") -> None:
    """Save the finding, recompute the audit and record the event."""
    validation.save_validated(finding)
    count_again(finding.audit, by)
    after = finding.effective_outcome
    reason = reason or finding.override_reason
    outcome = FindingOutcome(finding.override_outcome or after).label.lower()
    verb = "override_proposed" if step == "proposed" else step
    events.record(
        engagement=finding.audit.engagement,
        verb=f"audit.finding_{verb}",
        summary=f"{check_of(finding.check_name).question} "
        + _SUMMARIES[step].format(outcome=outcome, reason=reason),
        actor=by,
        changes={
            "check": finding.check_name,
            "effective_outcome": [before, after],
            "override": finding.override_outcome,
            "reason": reason,
        },
    )
