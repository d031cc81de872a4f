"""The days on which the clock stops because the customer has not provided what was asked for.

By the contract's clause the time-box is paused from the third working day after the request until
the day on which the item is provided. An agreed pause on the same days prevails, so that an
amendment corrects them, for example for public holidays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from engagements.common.working_days import add_working_days
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
    """The stops of requests that no agreed pause overlaps. Prefetch `cooperation_requests`."""
    pauses = list(agreed)
    found = []
    for row in engagement.cooperation_requests.all():
        stop = WaitingStop(
            paused_from(row), row.provided_on or today, str(engagement.customer), row.item
        )
        is_agreed = any(
            each.starts_on <= stop.ends_on and stop.starts_on <= each.ends_on for each in pauses
        )
        if stop.starts_on <= stop.ends_on and not is_agreed:
            found.append(stop)
    return found
