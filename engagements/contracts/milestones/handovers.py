"""The handover: delivered by the consultancy, accepted, contested, or deemed accepted.

The event log is its record: `handover.delivered` with its last day, then `handover.contested`,
which another delivery follows, or `handover.accepted`. A target that is met again restarts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.working_days import add_working_days
from engagements.contracts import versions
from engagements.contracts.milestones.services import accept
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.event_log.models import Event
from engagements.people.models import User

# The contract's working days after which a handover without a stated defect is accepted.
DEEMED_AFTER = 10
VERBS = ("engagement.met", "handover.delivered", "handover.contested", "handover.accepted")


class Handover(NamedTuple):
    """The newest delivery: the last day to state a defect, and the defect stated since, if any."""

    last_day: date
    defect: str


def first_last_day() -> date:
    """The earliest last day of a handover made today."""
    return add_working_days(timezone.localdate(), DEEMED_AFTER)


def handover_of(engagement: Engagement) -> Handover | None:
    """The newest delivery since the target was met; None before one, and once it was accepted."""
    newest = list(log_of(engagement)[:2])
    if not newest or newest[0].verb in ("engagement.met", "handover.accepted"):
        return None
    is_contested = newest[0].verb == "handover.contested"
    delivered = newest[1] if is_contested else newest[0]
    return Handover(
        last_day=date.fromisoformat(delivered.changes["last_day"]),
        defect=newest[0].changes["defect"] if is_contested else "",
    )


def newest_verb(engagement: Engagement) -> str:
    """The newest verb of an engagement's handover; empty before the target is met."""
    return log_of(engagement).values_list("verb", flat=True).first() or ""


def log_of(engagement: Engagement | OuterRef) -> QuerySet[Event]:
    """The events of an engagement's handover, newest first."""
    return Event.objects.filter(engagement=engagement, verb__in=VERBS).order_by("-position")


def accepted_on(engagement: Engagement) -> date | None:
    """The day on which the handover was accepted first; None before."""
    event = engagement.events.filter(verb="handover.accepted").order_by("position").first()
    return timezone.localdate(event.happened_at) if event else None


@transaction.atomic
def hand_over(*, engagement: Engagement, by: User, last_day: date | None = None) -> Handover:
    """Hand over the deliverables after a met target, for the consultancy.

    Without a stated defect by `last_day` the handover is deemed accepted: ten working days later
    at the earliest, and later where public holidays fall between. Idempotent until a defect.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.MET, to="for its handover")
    _require_pending(row)
    known = handover_of(row)
    if known is not None and not known.defect:
        return known
    day = last_day or first_last_day()
    if day < first_last_day():
        raise ApplicationError(
            f"Give the customer {DEEMED_AFTER} working days: until {in_words(first_last_day())} "
            "or later.",
            code="handover.too_short",
        )
    events.record(
        engagement=row,
        verb="handover.delivered",
        summary="The deliverables were handed over. Without a stated defect by "
        f"{in_words(day)} the handover is deemed accepted.",
        actor=by,
        changes={"last_day": day.isoformat()},
        for_customer=True,
    )
    return Handover(day, "")


@transaction.atomic
def contest(*, engagement: Engagement, defect: str, by: User, address: str | None = None) -> None:
    """State what is missing or defective, for the customer. The consultancy hands over again."""
    row = stages.locked(engagement.pk)
    access.require_signatory(row, by)
    _require_pending(row)
    known = handover_of(row)
    if known is None or known.defect:
        raise ApplicationError(
            "No handover is open. Wait for the consultancy to hand over.", code="handover.not_open"
        )
    if timezone.localdate() > known.last_day:
        raise ApplicationError(
            f"Defects could be stated until {in_words(known.last_day)}. The handover is deemed "
            "accepted; the warranty covers defects from now on.",
            code="handover.deemed_accepted",
        )
    text = validation.text(defect, noun="The defect")
    events.record(
        engagement=row,
        verb="handover.contested",
        summary=f"{by} stated a defect of the handover.",
        actor=by,
        address=address,
        changes={"defect": text},
        for_customer=True,
    )


def newest_verbs(keys: Sequence[int]) -> dict[int, str]:
    """The newest verb of the handover of these engagements, by primary key."""
    newest = Subquery(log_of(OuterRef("pk")).values("verb")[:1])
    rows = Engagement.objects.filter(pk__in=keys).annotate(newest=newest)
    return {pk: verb or "" for pk, verb in rows.values_list("pk", "newest")}


def delivered() -> QuerySet[Engagement]:
    """Met engagements whose newest delivery is neither accepted nor contested."""
    rows = Engagement.objects.filter(stage=Stage.MET).annotate(
        newest=Subquery(log_of(OuterRef("pk")).values("verb")[:1])
    )
    return rows.filter(newest="handover.delivered")


@transaction.atomic
def accept_when_deemed(*, engagement: Engagement) -> bool:
    """Accept a handover without a stated defect after its last day. Returns whether it did."""
    row = stages.locked(engagement.pk)
    known = handover_of(row)
    contract = versions.contract_in_force(row)
    if contract is None or row.stage != Stage.MET or known is None or known.defect:
        return False
    if timezone.localdate() <= known.last_day:
        return False
    contract.engagement = row
    accept(
        contract,
        summary=f"The handover is deemed accepted: no defect was stated by "
        f"{in_words(known.last_day)}.",
    )
    return True


def _require_pending(engagement: Engagement) -> None:
    if newest_verb(engagement) in ("", "handover.accepted"):
        raise ApplicationError(
            "This contract has no handover to accept.", code="milestone.no_handover"
        )
