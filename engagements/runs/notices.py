"""Notices of acceptance runs: the contract's days between a notice and the request."""

from __future__ import annotations

from datetime import date, timedelta

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import versions
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.event_log.models import Event
from engagements.people.models import User


@transaction.atomic
def give(*, engagement: Engagement, by: User) -> date:
    """Give the customer notice of the next acceptance run. Returns the first day for it.

    Idempotent until that run is requested.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.ACTIVE, to="for notice of an acceptance run")
    contract = versions.contract_in_force(row)
    assert contract is not None  # an active engagement has one
    known = first_day(row, contract)
    if known is not None:
        return known
    day = timezone.localdate() + timedelta(days=contract.run_notice_days)
    events.record(
        engagement=row,
        verb="run.announced",
        summary=f"The next acceptance run may be requested from {in_words(day)}.",
        actor=by,
        changes={"from": day.isoformat()},
        for_customer=True,
    )
    return day


def first_day(engagement: Engagement, contract: ContractVersion) -> date | None:
    """The first day for the next acceptance run; None where notice has yet to be given."""
    if not contract.run_notice_days:
        return timezone.localdate()
    verbs = ("run.announced", "run.requested")
    log = Event.objects.filter(engagement=engagement, verb__in=verbs, for_customer=True)
    last = log.order_by("-position").first()
    if last is None or last.verb != "run.announced":
        return None
    return date.fromisoformat(str(last.changes["from"]))


def require(engagement: Engagement, contract: ContractVersion) -> None:
    """Require that the notice of the next acceptance run was given and has passed."""
    day = first_day(engagement, contract)
    if day is None:
        raise ApplicationError(
            f"Give the customer notice first: {contract.run_notice_days} days before the run.",
            code="run.notice_required",
        )
    if timezone.localdate() < day:
        raise ApplicationError(
            f"Notice was given for {in_words(day)}. Request the run from then on.",
            code="run.notice_running",
        )
