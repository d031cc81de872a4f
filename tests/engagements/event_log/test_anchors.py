"""An anchor finds what a forger of the log made fit: rewritten, cut off, or gone whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engagements.engagement.models import Engagement
from engagements.event_log import anchors, events
from engagements.event_log.models import EventAnchor
from engagements.event_log.verify import verify
from tests.engagements.event_log.tampering import LENGTH, found, seal_again
from tests.engagements.world import World


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


def test_the_sweep_anchors_the_log(engagement: Engagement, sweep: Callable[[], None]) -> None:
    sweep()
    sweep()
    assert EventAnchor.objects.get().heads == {
        engagement.reference: [LENGTH, engagement.events.get(position=LENGTH).digest]
    }
