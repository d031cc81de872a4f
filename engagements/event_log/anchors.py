"""Anchors: snapshots of the heads of all event chains."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from engagements.event_log.chain import digest_of_anchor
from engagements.event_log.models import EventAnchor
from engagements.event_log.verify import grown_chains

logger = logging.getLogger(__name__)

# Key of the advisory lock that serialises anchors.
_ANCHORS = 0x7F02
EVERY = timedelta(hours=1)


@transaction.atomic
def take() -> EventAnchor | None:
    """Anchor every chain that grew since the last anchor; None if none did.

    Does not wait for writers: uncommitted events are in the next anchor. The digest is logged, so
    that a copy exists outside the database.
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
    """Take an anchor unless the last one is less than an hour old."""
    recent = EventAnchor.objects.filter(taken_at__gt=timezone.now() - EVERY)
    return None if recent.exists() else take()
