"""The event log: the one place that writes to it."""

from __future__ import annotations

import json
from typing import Any

from django.db import transaction
from django.dispatch import Signal

from engagements.common.client_ip import current_address
from engagements.engagement.models import Engagement
from engagements.event_log.chain import digest_of_event
from engagements.event_log.models import Event
from engagements.people.models import User

# Sent inside the transaction that records the event, with `event`.
event_recorded = Signal()
APPLICATION = "Twofold"
MAX_SUMMARY_CHARACTERS = 300


@transaction.atomic
def record(
    *,
    engagement: Engagement,
    verb: str,
    summary: str,
    actor: User | None,
    address: str | None = None,
    changes: dict[str, Any] | None = None,
    for_customer: bool = False,
) -> Event:
    """Write down what happened, in the transaction in which it happens.

    `verb` is noun.participle, as in contract.accepted. `summary` is one sentence that a
    customer may read when `for_customer`. `changes` maps a field to [before, after], or names
    a plain fact. Without an `actor` the application did it. `address` is the IP address of the
    request being answered unless another is given.

    The event is chained to the one before it in the same engagement, under the engagement's
    lock; a trigger refuses one that follows anything but the last. `event_recorded` is
    sent in the same transaction; notifications listen to it.
    """
    _lock(engagement)
    last = Event.objects.filter(engagement=engagement).order_by("position").last()
    event = Event(
        engagement=engagement,
        position=last.position + 1 if last else 1,
        previous=last.digest if last else "",
        verb=verb,
        summary=_shortened(summary),
        actor=actor,
        actor_name=str(actor) if actor else APPLICATION,
        address=address or current_address(),
        # As the database will give it back: what is digested is what is read again.
        changes=json.loads(json.dumps(changes or {})),
        for_customer=for_customer,
    )
    event.digest = digest_of_event(event, reference=engagement.reference)
    event.save(force_insert=True)
    event_recorded.send(Event, event=event)
    return event


def _lock(engagement: Engagement) -> None:
    """Whoever holds it already waits for nobody.

    Not the lock that a deletion takes: rows that refer to the engagement may be written by
    others meanwhile, so nobody who did that first and records an event next stands in the way.
    """
    Engagement.objects.select_for_update(no_key=True).only("pk").get(pk=engagement.pk)


def _shortened(summary: str) -> str:
    if len(summary) <= MAX_SUMMARY_CHARACTERS:
        return summary
    return summary[: MAX_SUMMARY_CHARACTERS - 1].rstrip() + "…"
