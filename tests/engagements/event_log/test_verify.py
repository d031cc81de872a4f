"""Verification finds every change that the database's owner could make to the event log."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from engagements.engagement.models import Engagement
from engagements.event_log import anchors
from engagements.event_log.chain import digest_of_event
from engagements.event_log.models import Event, EventAnchor, EventChain, FinanceEvent
from engagements.event_log.verify import verify
from engagements.ledger import periods
from tests.database_constraints import violates
from tests.engagements.event_log.forged_log import LENGTH, found, seal_again
from tests.engagements.world import World

DIGEST = "sha256:" + "0" * 64


def test_an_untouched_log_is_intact(engagement: Engagement) -> None:
    report = verify()
    assert report.is_intact
    assert (report.engagements, report.events) == (1, LENGTH)
    assert EventChain.objects.get(engagement=engagement).length == LENGTH


def test_every_event_holds_the_digest_of_the_one_before(engagement: Engagement) -> None:
    rows = list(engagement.events.order_by("position"))
    assert [row.position for row in rows] == list(range(1, LENGTH + 1))
    assert [row.previous for row in rows] == ["", *(row.digest for row in rows[:-1])]


@pytest.mark.parametrize(
    "change",
    [
        "verb = 'work.undone'",
        "summary = 'Nothing of note.'",
        "actor_id = NULL",
        "actor_name = 'Somebody'",
        "address = '198.51.100.1'",
        """changes = '{"count": 5}'""",
        "for_customer = NOT for_customer",
        "happened_at = happened_at + interval '1 microsecond'",
    ],
)
def test_a_changed_column_is_found(
    engagement: Engagement, as_owner: Callable[[str], None], change: str
) -> None:
    as_owner(f"UPDATE engagements_event SET {change} WHERE position = 4")
    assert found() == [(4, "changed")]


def test_a_change_with_a_new_digest_is_found_by_the_next_event(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET summary = 'Nothing.' WHERE position = 4")
    row = engagement.events.get(position=4)
    as_owner(
        "UPDATE engagements_event SET digest = "
        f"'{digest_of_event(row, reference=engagement.reference)}' WHERE position = 4"
    )
    assert found() == [(4, "changed")]


def test_a_changed_last_event_with_a_new_digest_is_found_by_the_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner(f"UPDATE engagements_event SET summary = 'Nothing.' WHERE position = {LENGTH}")
    seal_again(engagement, since=LENGTH, as_owner=as_owner)
    assert found() == [(LENGTH, "changed")]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (3, 3), (2, 4)])
def test_removed_events_are_found(
    engagement: Engagement, as_owner: Callable[[str], None], first: int, last: int
) -> None:
    as_owner(f"DELETE FROM engagements_event WHERE position BETWEEN {first} AND {last}")
    assert found() == [(first, "removed")]


def test_a_removed_tail_is_found_by_the_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("DELETE FROM engagements_event WHERE position > 4")
    assert found() == [(5, "removed")]


def test_a_deleted_chain_is_found_by_the_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("DELETE FROM engagements_event")
    assert found() == [(1, "removed")]


def test_a_removed_event_is_found_after_renumbering(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("DELETE FROM engagements_event WHERE position = 3")
    as_owner("UPDATE engagements_event SET position = position - 1 WHERE position > 3")
    assert found() == [(3, "reordered"), (LENGTH, "removed")]


def insert(position: int) -> str:
    """SQL that inserts an event before `position` and renumbers the others."""
    return (
        f"UPDATE engagements_event SET position = position + 1 WHERE position >= {position}; "
        "INSERT INTO engagements_event (engagement_id, position, verb, summary, actor_name, "
        "changes, for_customer, happened_at, previous, digest) "
        f"SELECT engagement_id, {position}, 'work.invented', 'Put in.', 'Nobody', '{{}}', false, "
        f"happened_at, previous, digest FROM engagements_event WHERE position = {position + 1}"
    )


def test_an_inserted_event_is_found(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner(insert(3))
    assert found()[0] == (3, "changed")
    row = engagement.events.get(position=3)
    digest = digest_of_event(row, reference=engagement.reference)
    as_owner(f"UPDATE engagements_event SET digest = '{digest}' WHERE position = 3")
    assert (3, "inserted") in found()
    assert (LENGTH + 1, "inserted") in found()


def test_an_event_appended_past_the_count_is_found(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner(insert(LENGTH + 1).split(";")[1].replace(f"position = {LENGTH + 2}", "position = 6"))
    seal_again(engagement, since=LENGTH + 1, as_owner=as_owner)
    assert found() == [(LENGTH + 1, "inserted")]


def test_a_duplicate_position_is_found(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET position = 4 WHERE position = 5")
    assert (4, "inserted") in found()
    assert (5, "removed") in found()


def test_swapped_events_are_found(engagement: Engagement, as_owner: Callable[[str], None]) -> None:
    as_owner("UPDATE engagements_event SET position = 9 - position WHERE position IN (4, 5)")
    assert found() == [(4, "reordered"), (5, "reordered")]


@pytest.mark.parametrize(
    "wrong", [{"position": LENGTH + 2}, {"previous": DIGEST}, {"position": 1, "previous": ""}]
)
def test_the_database_rejects_an_event_that_does_not_follow_the_last(
    engagement: Engagement, wrong: dict[str, Any]
) -> None:
    last = engagement.events.get(position=LENGTH)
    columns = {
        "engagement": engagement,
        "position": LENGTH + 1,
        "previous": last.digest,
        "digest": DIGEST,
        "happened_at": timezone.now(),
    }
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.create(**columns | wrong)
    Event.objects.create(**columns)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE engagements_eventchain SET length = 1",
        "DELETE FROM engagements_eventchain",
        "INSERT INTO engagements_eventchain SELECT id, 1, '' FROM engagements_engagement",
    ],
)
def test_only_the_trigger_writes_the_count(engagement: Engagement, statement: str) -> None:
    with violates("eventchain.written_by_triggers"):
        connection.cursor().execute(statement)


def test_the_command_reports_an_intact_log(engagement: Engagement) -> None:
    output = io.StringIO()
    call_command("events", "anchor", stdout=output)
    call_command("events", "verify", stdout=output)
    digest = EventAnchor.objects.get().digest
    assert output.getvalue().count(digest) == 2


def test_the_command_fails_and_names_the_place(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET summary = 'Nothing.' WHERE position = 4")
    output = io.StringIO()
    with pytest.raises(CommandError, match="6 events"):
        call_command("events", "verify", stderr=output)
    assert output.getvalue().startswith(f"{engagement.reference}, 4: ")


def test_months_are_events_of_a_chain_of_their_own(world: World) -> None:
    march = dt.date(2026, 3, 1)
    row = periods.propose(month=march, checklist=[], note="", by=world.finance)
    periods.approve(period=row, checklist=[], by=world.controller)
    reopening = periods.propose_reopening(period=row, reason="A late line.", by=world.finance)
    periods.approve_reopening(reopening=reopening, by=world.controller)
    verbs = list(FinanceEvent.objects.order_by("position").values_list("verb", flat=True))
    assert verbs == [
        "period.proposed",
        "period.closed",
        "period_reopening.proposed",
        "period_reopening.posted",
    ]
    anchors.take()
    assert verify().is_intact
    with violates("financeevent.append_only"):
        FinanceEvent.objects.update(summary="Nothing.")
    with violates("financeevent.chain"):
        FinanceEvent.objects.create(position=7, verb="x", previous=DIGEST, digest=DIGEST)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE engagements_financeevent SET summary = 'x' WHERE position = 2")
        cursor.execute("DELETE FROM engagements_financeevent WHERE position = 4")
        cursor.execute("SET LOCAL session_replication_role = origin")
    breaks = {(each.where, each.what) for each in verify().breaks}
    assert breaks == {("finance", "changed"), ("finance", "removed")}
