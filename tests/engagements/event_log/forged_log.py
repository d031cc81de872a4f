"""Forge the event log, and read what verification finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engagements.engagement.models import Engagement
from engagements.event_log.chain import digest_of_event
from engagements.event_log.verify import verify

LENGTH = 6


def found(**options: Any) -> list[tuple[int, str]]:
    """Return position and kind of every break."""
    return [(one.position, one.what) for one in verify(**options).breaks]


def seal_again(engagement: Engagement, *, since: int, as_owner: Callable[[str], None]) -> None:
    """Recompute every digest from position `since` on, as a careful forger would."""
    rows = list(engagement.events.order_by("position"))
    for before, row in zip([None, *rows[:-1]], rows, strict=True):
        if row.position < since:
            continue
        row.previous = before.digest if before else ""
        row.digest = digest_of_event(row, reference=engagement.reference)
        as_owner(
            f"UPDATE engagements_event SET previous = '{row.previous}', digest = '{row.digest}' "
            f"WHERE id = {row.pk}"
        )
