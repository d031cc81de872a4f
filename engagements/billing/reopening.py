"""Reopen closed engagements whose money changed."""

from __future__ import annotations

from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User


def reopen(engagement: Engagement, *, reason: str, by: User | None) -> None:
    """Move a closed engagement, locked, back to the stage in which it was closed.

    `reason` completes "The engagement was reopened: …". Nothing happens to others.
    """
    closed = engagement.events.filter(verb="engagement.closed").order_by("position").last()
    if engagement.stage != Stage.CLOSED or closed is None:
        return
    events.record(
        engagement=engagement,
        verb="engagement.reopened",
        summary=f"The engagement was reopened: {reason}.",
        actor=by,
        changes=stages.move(engagement, Stage(closed.changes["stage"][0])),
    )
