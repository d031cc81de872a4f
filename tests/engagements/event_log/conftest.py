"""An event log, and write access past its triggers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from engagements.engagement.models import Engagement
from engagements.event_log import events
from tests.engagements.event_log.forged_log import LENGTH
from tests.engagements.world import World


@pytest.fixture
def engagement(world: World) -> Engagement:
    """An engagement with six events."""
    engagement = world.scoping()
    for number in range(2, LENGTH + 1):
        events.record(
            engagement=engagement,
            verb="time.noted",
            summary=f"“Ünusual” – {number}",
            actor=world.consultant,
            address=("192.0.2.7", "2001:DB8::0:1", "::ffff:192.0.2.9", None)[number % 4],
            changes={"share": 0.1 * number, "count": number, "tiny": 1e-7, "nested": [{"é": None}]},
        )
    return engagement


@pytest.fixture
def as_owner(world: World) -> Callable[[str], None]:
    """Execute SQL with triggers and the unique position switched off."""

    def write(sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(
                "ALTER TABLE engagements_event "
                "DROP CONSTRAINT IF EXISTS event_position_once_an_engagement"
            )
            cursor.execute(sql)
            cursor.execute("SET LOCAL session_replication_role = origin")

    return write
