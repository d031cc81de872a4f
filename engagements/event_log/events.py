"""Write to the event log. Nothing else does."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection, transaction
from django.dispatch import Signal

from engagements.common.client_ip import current_address
from engagements.engagement.models import Engagement
from engagements.event_log.chain import FINANCE, digest_of_event
from engagements.event_log.models import Event, FinanceEvent
from engagements.people.models import User

# Sent inside the transaction that records the event, with `event`.
event_recorded = Signal()
APPLICATION = "Twofold"
MAX_SUMMARY_CHARACTERS = 300


@transaction.atomic(savepoint=False)
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
    """Record an event in the caller's transaction.

    `verb` is noun.participle, as in contract.accepted. `summary` is one sentence, which the
    customer reads if `for_customer`. `changes` maps a field to [before, after] or to a fact.
    `actor` is None for the application itself. `address` defaults to the current request's IP.

    Each event holds the digest of the one before it in its engagement; the engagement's lock and
    a trigger keep the chain unbroken. Sends `event_recorded` in the same transaction.
    """
    _lock(engagement)
    last = Event.objects.filter(engagement=engagement).order_by("position").last()
    event = Event(engagement=engagement, for_customer=for_customer)
    _append(event, last, engagement.reference, verb, summary, actor, address, changes)
    event_recorded.send(Event, event=event)
    return event


@transaction.atomic
def record_finance(
    *, verb: str, summary: str, actor: User, changes: dict[str, Any] | None = None
) -> FinanceEvent:
    """Record an event of finance that belongs to no engagement; see `record`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(202603, 2)")
    last = FinanceEvent.objects.order_by("position").last()
    event = FinanceEvent()
    _append(event, last, FINANCE, verb, summary, actor, None, changes)
    return event


def _append(
    event: Event | FinanceEvent,
    last: Event | FinanceEvent | None,
    reference: str,
    verb: str,
    summary: str,
    actor: User | None,
    address: str | None,
    changes: dict[str, Any] | None,
) -> None:
    """Save an event after the last one of its chain."""
    event.position = last.position + 1 if last else 1
    event.previous = last.digest if last else ""
    event.verb, event.summary = verb, _shortened(summary)
    event.actor, event.actor_name = actor, str(actor) if actor else APPLICATION
    event.address = address or current_address()
    # As the database returns it, so that the digest can be verified.
    event.changes = json.loads(json.dumps(changes or {}))
    event.digest = digest_of_event(event, reference=reference)
    event.save(force_insert=True)


def _lock(engagement: Engagement) -> None:
    """Lock the engagement's row against other writers of events.

    FOR NO KEY UPDATE still lets other transactions insert rows that refer to the engagement, so
    two that do both cannot deadlock.
    """
    Engagement.objects.select_for_update(no_key=True).only("pk").get(pk=engagement.pk)


def _shortened(summary: str) -> str:
    if len(summary) <= MAX_SUMMARY_CHARACTERS:
        return summary
    return summary[: MAX_SUMMARY_CHARACTERS - 1].rstrip() + "…"
