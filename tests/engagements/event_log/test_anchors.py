"""Anchors reveal a log that was rewritten, truncated or deleted consistently."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engagements.engagement.models import Engagement
from engagements.event_log import anchors, events
from engagements.event_log.models import EventAnchor
from engagements.event_log.verify import verify
from tests.engagements.event_log.forged_log import LENGTH, found, seal_again
from tests.engagements.world import World


def test_an_anchor_reveals_a_log_rewritten_with_its_count(
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


def test_an_anchor_reveals_a_tail_removed_with_its_count(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchors.take()
    events.record(engagement=engagement, verb="time.noted", summary="More.", actor=None)
    anchors.take()
    as_owner(f"DELETE FROM engagements_event WHERE position > {LENGTH}")
    head = engagement.events.get(position=LENGTH).digest
    as_owner(f"UPDATE engagements_eventchain SET length = {LENGTH}, head = '{head}'")
    assert found() == [(LENGTH + 1, "removed")]


def test_an_anchor_reveals_a_deleted_engagement(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchors.take()
    for table in ("event", "eventchain", "engagement"):
        as_owner(f"DELETE FROM engagements_{table}")
    assert found() == [(1, "removed")]
    assert verify().breaks[0].where == engagement.reference


def test_an_anchor_covers_only_grown_chains_and_follows_the_last(
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


def test_the_sweep_anchors_once_an_hour(engagement: Engagement) -> None:
    assert anchors.take_when_due()
    events.record(engagement=engagement, verb="time.noted", summary="More.", actor=None)
    assert anchors.take_when_due() is None


@pytest.mark.parametrize(
    ("tampering", "place"),
    [
        ("UPDATE engagements_eventanchor SET heads = '{}' WHERE number = 2", (2, "changed")),
        ("DELETE FROM engagements_eventanchor WHERE number = 2", (2, "removed")),
        ("DELETE FROM engagements_eventanchor WHERE number = 1", (1, "removed")),
    ],
)
def test_an_altered_anchor_is_found(
    engagement: Engagement, as_owner: Callable[[str], None], tampering: str, place: tuple[int, str]
) -> None:
    for _ in range(3):
        events.record(engagement=engagement, verb="time.noted", summary="More.", actor=None)
        anchors.take()
    as_owner(tampering)
    assert found() == [place]


def test_a_kept_digest_reveals_a_deleted_last_anchor(
    engagement: Engagement, as_owner: Callable[[str], None]
) -> None:
    anchor = anchors.take()
    assert anchor is not None
    assert found(kept_anchors=[anchor.digest]) == []
    as_owner("DELETE FROM engagements_eventanchor")
    assert found() == []
    assert found(kept_anchors=[anchor.digest]) == [(1, "removed")]


def test_the_sweep_anchors_the_log(engagement: Engagement, sweep: Callable[[], None]) -> None:
    sweep()
    sweep()
    assert EventAnchor.objects.get().heads == {
        engagement.reference: [LENGTH, engagement.events.get(position=LENGTH).digest]
    }
