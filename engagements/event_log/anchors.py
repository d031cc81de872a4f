"""Anchors: where the chains of events stand, written down for all engagements together."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from engagements.event_log.chain import digest_of_anchor
from engagements.event_log.models import EventAnchor
from engagements.event_log.verify import grown_chains

logger = logging.getLogger(__name__)

# Names the advisory lock under which anchors are taken. Any number of our own does.
_ANCHORS = 0x7F02
EVERY = timedelta(hours=1)


@transaction.atomic
def take() -> EventAnchor | None:
    """Take an anchor over every chain that grew since the last; None where none did.

    It waits for nobody who writes events: what is not committed yet comes into the next. The
    digest is logged as well, so that a copy of it lies outside the database.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ANCHORS])
    heads = grown_chains()
    if not heads:
        return None
    last = EventAnchor.objects.order_by("number").last()
    anchor = EventAnchor(
        number=last.number + 1 if last else 1,
        previous=last.digest if last else "",
        taken_at=timezone.now(),
        heads=heads,
    )
    anchor.digest = digest_of_anchor(anchor)
    anchor.save(force_insert=True)
    logger.info("anchor %d over %d chains: %s", anchor.number, len(heads), anchor.digest)
    return anchor


def take_when_due() -> EventAnchor | None:
    """Take an anchor unless the last is younger than an hour; the sweep calls this."""
    recent = EventAnchor.objects.filter(taken_at__gt=timezone.now() - EVERY)
    return None if recent.exists() else take()
