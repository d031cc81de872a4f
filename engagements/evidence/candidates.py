"""Name the candidate that a profile belongs to."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from benchmarks.models import Solution
from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.evidence.models import Evidence
from engagements.people.models import User


def candidates_of(engagement: Engagement) -> QuerySet[Solution]:
    """The candidates of an engagement's runs, the newest first."""
    return Solution.objects.filter(pk__in=engagement.runs.values("run__solution"))


def profiles_of(engagement: Engagement, candidate: Solution) -> QuerySet[Evidence]:
    """The profiles of a candidate that were not withdrawn, the newest first."""
    rows = Evidence.objects.filter(engagement=engagement, candidate=candidate)
    return rows.exclude(state=Evidence.State.WITHDRAWN)


def by_digest(engagement: Engagement, digest: str) -> Solution:
    """The newest candidate of the engagement with this source."""
    found = candidates_of(engagement).filter(digest=digest).first()
    if found is None:
        raise _unknown()
    return found


def require_candidate(engagement: Engagement, candidate: Solution | None) -> None:
    """Require a candidate of a run of this engagement, or none."""
    if candidate is not None and not candidates_of(engagement).filter(pk=candidate.pk).exists():
        raise _unknown()


def _unknown() -> ApplicationError:
    return ApplicationError(
        "Choose a candidate of a run of this engagement.", code="evidence.candidate"
    )


@transaction.atomic
def assign(*, evidence: Evidence, candidate: Solution | None, by: User) -> Evidence:
    """Name the candidate of a file; None is the customer's workload. Idempotent.

    Findings of an audit that is not delivered are computed anew.
    """
    access.require_consultant(by)
    engagement = stages.locked(evidence.engagement_id)
    row = Evidence.objects.select_for_update(of=("self",)).get(pk=evidence.pk)
    if row.candidate == candidate or row.state == Evidence.State.WITHDRAWN:
        return row
    require_candidate(engagement, candidate)
    before, row.candidate = row.candidate, candidate
    validation.save_validated(row)
    events.record(
        engagement=engagement,
        verb="evidence.assigned",
        summary=f"{row.name} is a profile of {candidate or 'the workload'}.",
        actor=by,
        changes={"candidate": [each and each.digest for each in (before, candidate)]},
    )
    enqueue("compute_findings", engagement.pk)
    return row
