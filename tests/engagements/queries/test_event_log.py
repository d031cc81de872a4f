"""The event log proves itself whole, and says where it is not.

Whoever tampers here owns the database: triggers are off, constraints are gone.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from engagements.chain import digest_of_event
from engagements.models import Engagement, Event, EventAnchor, EventChain
from engagements.queries.event_log import verify
from engagements.services import anchors, events
from tests.engagements.world import World

LENGTH = 6
DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def engagement(world: World) -> Engagement:
    """One with six events, opened first."""
    engagement = world.scoping()
    for number in range(2, LENGTH + 1):
        events.record(
            engagement=engagement,
            verb=f"work.done_{number}",
            summary=f"“Ünusual” – {number}",
            actor=world.consultant,
            address=("192.0.2.7", "2001:DB8::0:1", "::ffff:192.0.2.9", None)[number % 4],
            changes={"share": 0.1 * number, "count": number, "tiny": 1e-7, "nested": [{"é": None}]},
        )
    return engagement


@pytest.fixture
def as_owner(world: World) -> Callable[[str], None]:
    """Write as somebody who switched the triggers off."""

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


def found(**options: Any) -> list[tuple[int, str]]:
    """The place and the kind of every break."""
    return [(one.position, one.what) for one in verify(**options).breaks]


def seal_again(engagement: Engagement, *, since: int, as_owner: Callable[[str], None]) -> None:
    """Recompute every digest from position `since` on, as a careful forger would."""
    rows = list(engagement.events.order_by("position"))
    for before, row in zip([None, *rows], rows, strict=False):
        if row.position < since:
            continue
        row.previous = before.digest if before else ""
        row.digest = digest_of_event(row, reference=engagement.reference)
        as_owner(
            f"UPDATE engagements_event SET previous = '{row.previous}', digest = '{row.digest}' "
            f"WHERE id = {row.pk}"
        )


def test_a_log_that_nobody_touched_is_whole(engagement: Engagement) -> None:
    report = verify()
    assert report.is_whole
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
def test_a_changed_column_is_found_where_it_stands(
    engagement: Engagement, as_owner: Callable[[str], None], change: str
) -> None:
    as_owner(f"UPDATE engagements_event SET {change} WHERE position = 4")
    assert found() == [(4, "changed")]


def test_a_change_that_was_sealed_again_is_found_by_the_next_event(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET summary = 'Nothing.' WHERE position = 4")
    row = engagement.events.get(position=4)
    as_owner(
        "UPDATE engagements_event SET digest = "
        f"'{digest_of_event(row, reference=engagement.reference)}' WHERE position = 4"
    )
    assert found() == [(4, "changed")]


def test_a_last_event_that_was_sealed_again_is_found_by_the_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner(f"UPDATE engagements_event SET summary = 'Nothing.' WHERE position = {LENGTH}")
    seal_again(engagement, since=LENGTH, as_owner=as_owner)
    assert found() == [(LENGTH, "changed")]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (3, 3), (2, 4)])
def test_removed_events_are_found_where_they_stood(
    engagement: Engagement, as_owner: Callable[[str], None], first: int, last: int
) -> None:
    as_owner(f"DELETE FROM engagements_event WHERE position BETWEEN {first} AND {last}")
    assert found() == [(first, "removed")]


def test_a_removed_tail_is_found_by_the_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("DELETE FROM engagements_event WHERE position > 4")
    assert found() == [(5, "removed")]
    assert "counted 6 events; 4 are left" in str(verify().breaks[0])


def test_a_log_that_is_gone_whole_is_found_by_the_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("DELETE FROM engagements_event")
    assert found() == [(1, "removed")]


def test_a_removed_event_is_found_when_the_others_close_the_gap(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("DELETE FROM engagements_event WHERE position = 3")
    as_owner("UPDATE engagements_event SET position = position - 1 WHERE position > 3")
    assert found() == [(3, "reordered"), (LENGTH, "removed")]


def insert(position: int) -> str:
    """An event put in before `position`, the others moved on."""
    return (
        f"UPDATE engagements_event SET position = position + 1 WHERE position >= {position}; "
        "INSERT INTO engagements_event (engagement_id, position, verb, summary, actor_name, "
        "changes, for_customer, happened_at, previous, digest) "
        f"SELECT engagement_id, {position}, 'work.invented', 'Put in.', 'Nobody', '{{}}', false, "
        f"happened_at, previous, digest FROM engagements_event WHERE position = {position + 1}"
    )


def test_an_inserted_event_is_found_where_it_was_put_in(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner(insert(3))
    assert found()[0] == (3, "changed")
    row = engagement.events.get(position=3)
    digest = digest_of_event(row, reference=engagement.reference)
    as_owner(f"UPDATE engagements_event SET digest = '{digest}' WHERE position = 3")
    assert (3, "inserted") in found()
    assert (LENGTH + 1, "inserted") in found()


def test_an_event_added_past_the_count_is_found(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner(insert(LENGTH + 1).split(";")[1].replace(f"position = {LENGTH + 2}", "position = 6"))
    seal_again(engagement, since=LENGTH + 1, as_owner=as_owner)
    assert found() == [(LENGTH + 1, "inserted")]


def test_two_events_in_one_place_are_found(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET position = 4 WHERE position = 5")
    assert (4, "inserted") in found()
    assert (5, "removed") in found()


def test_events_that_changed_places_are_found_in_both(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET position = 9 - position WHERE position IN (4, 5)")
    assert found() == [(4, "reordered"), (5, "reordered")]
    assert "was written as event 5" in str(verify().breaks[0])


def test_a_log_rewritten_with_its_count_is_found_by_the_anchor(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchor = anchors.take()
    assert anchor is not None
    as_owner("UPDATE engagements_event SET summary = 'Nothing.' WHERE position = 4")
    seal_again(engagement, since=4, as_owner=as_owner)
    head = engagement.events.get(position=LENGTH).digest
    as_owner(f"UPDATE engagements_eventchain SET head = '{head}'")
    assert found() == [(1, "changed")]
    assert f"Anchor {anchor.number}" in str(verify().breaks[0])


def test_a_tail_cut_off_with_its_count_is_found_by_the_anchor(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchors.take()
    events.record(engagement=engagement, verb="work.done", summary="More.", actor=None)
    anchors.take()
    as_owner(f"DELETE FROM engagements_event WHERE position > {LENGTH}")
    head = engagement.events.get(position=LENGTH).digest
    as_owner(f"UPDATE engagements_eventchain SET length = {LENGTH}, head = '{head}'")
    assert found() == [(LENGTH + 1, "removed")]


def test_an_engagement_that_is_gone_without_a_trace_is_found_by_the_anchor(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchors.take()
    for table in ("event", "eventchain", "engagement"):
        as_owner(f"DELETE FROM engagements_{table}")
    assert found() == [(1, "removed")]
    assert verify().breaks[0].where == engagement.reference


def test_an_anchor_holds_only_what_grew_and_follows_the_one_before(
    world: World, engagement: Engagement
) -> None:
    first = anchors.take()
    assert anchors.take() is None
    other = world.scoping()
    second = anchors.take()
    assert first is not None
    assert second is not None
    assert list(first.heads) == [engagement.reference]
    assert list(second.heads) == [other.reference]
    assert second.previous == first.digest


def test_an_anchor_is_taken_once_an_hour(engagement: Engagement) -> None:
    assert anchors.take_when_due()
    events.record(engagement=engagement, verb="work.done", summary="More.", actor=None)
    assert anchors.take_when_due() is None


@pytest.mark.parametrize(
    ("tampering", "place"),
    [
        ("UPDATE engagements_eventanchor SET heads = '{}' WHERE number = 2", (2, "changed")),
        ("DELETE FROM engagements_eventanchor WHERE number = 2", (2, "removed")),
        ("DELETE FROM engagements_eventanchor WHERE number = 1", (1, "removed")),
    ],
)
def test_a_touched_anchor_is_found(
    engagement: Engagement, as_owner: Callable[[str], None], tampering: str, place: tuple[int, str]
) -> None:
    for _ in range(3):
        events.record(engagement=engagement, verb="work.done", summary="More.", actor=None)
        anchors.take()
    as_owner(tampering)
    assert found() == [place]


def test_the_last_anchor_is_missed_by_whoever_kept_its_digest(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchor = anchors.take()
    assert anchor is not None
    assert found(kept_anchors=[anchor.digest]) == []
    as_owner("DELETE FROM engagements_eventanchor")
    assert found() == []
    assert found(kept_anchors=[anchor.digest]) == [(1, "removed")]


@pytest.mark.parametrize(
    "wrong", [{"position": LENGTH + 2}, {"previous": DIGEST}, {"position": 1, "previous": ""}]
)
def test_the_database_takes_no_event_that_does_not_follow_the_last(
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
def test_nobody_counts_events_but_the_database(engagement: Engagement, statement: str) -> None:
    words = "only the database itself counts events"
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        connection.cursor().execute(statement)


def test_the_command_says_that_the_log_is_whole(engagement: Engagement) -> None:
    said = io.StringIO()
    call_command("events", "anchor", stdout=said)
    call_command("events", "verify", stdout=said)
    digest = EventAnchor.objects.get().digest
    assert said.getvalue().splitlines() == [
        "anchor 1 over 1 engagements",
        digest,
        "whole: 6 events of 1 engagements, 1 anchors",
        f"last anchor: {digest}",
    ]


def test_the_command_fails_and_says_where(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    as_owner("UPDATE engagements_event SET summary = 'Nothing.' WHERE position = 4")
    said = io.StringIO()
    with pytest.raises(CommandError, match="broken in one place"):
        call_command("events", "verify", stderr=said)
    assert said.getvalue().startswith(f"{engagement.reference}, 4: changed.")


def test_the_sweep_anchors_the_log(engagement: Engagement, sweep: Callable[[], None]) -> None:
    sweep()
    sweep()
    assert EventAnchor.objects.get().heads == {
        engagement.reference: [LENGTH, engagement.events.get(position=LENGTH).digest]
    }
