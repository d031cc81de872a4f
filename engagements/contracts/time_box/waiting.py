"""The days on which the clock stops because the customer has not provided what was asked for.

By the contract's clause the time-box is paused from the third working day after the request until
the day on which the item is provided. A pause that was sealed once the item was provided records
these days and corrects them, for example for public holidays; one sealed earlier does not end the
waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from django.utils import timezone

from engagements.common.working_days import add_working_days
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import CooperationRequest, Pause
from engagements.engagement.models import Engagement

PAUSED_FROM = 3
TERMINABLE_AFTER = 15


class WaitingStop(NamedTuple):
    """The days on which the clock stops for a request, both included."""

    starts_on: date
    ends_on: date
    waits_for: str
    reason: str


def paused_from(request: CooperationRequest) -> date:
    """The first day on which the clock stops for a request."""
    return add_working_days(request.asked_on, PAUSED_FROM)


def terminable_from(request: CooperationRequest) -> date:
    """The first day on which the consultancy may terminate for a request."""
    return add_working_days(request.asked_on, TERMINABLE_AFTER + 1)


def stops(engagement: Engagement, agreed: Iterable[Pause], *, today: date) -> Sequence[WaitingStop]:
    """The stops of requests that no agreed pause corrects. Prefetch `cooperation_requests`."""
    pauses = list(agreed)
    found = []
    for row in engagement.cooperation_requests.all():
        stop = WaitingStop(
            paused_from(row), row.provided_on or today, str(engagement.customer), row.item
        )
        overlapping = [
            each
            for each in pauses
            if each.starts_on <= stop.ends_on and stop.starts_on <= each.ends_on
        ]
        is_corrected = row.provided_on is not None and any(
            _sealed_on(engagement, each) >= row.provided_on for each in overlapping
        )
        if stop.starts_on <= stop.ends_on and not is_corrected:
            found.append(stop)
    return found


def _sealed_on(engagement: Engagement, pause: Pause) -> date:
    """The day on which these days were first sealed: later versions repeat them."""
    versions = ContractVersion.objects.filter(
        engagement=engagement,
        state__in=(ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED),
        pauses__starts_on=pause.starts_on,
        pauses__ends_on=pause.ends_on,
    )
    first = versions.order_by("number").first()
    sealed = (first or pause.contract_version).sealed_at
    assert sealed is not None  # only sealed versions are in force
    return timezone.localdate(sealed)
