"""Findings computed, delivered and overridden at once: each happens once, in one order."""

from __future__ import annotations

import pytest

from engagements.models import Audit
from engagements.services import audits, checks, first_drafts
from tests.engagements.services.test_checks import DECODE, keep
from tests.engagements.services.test_first_drafts import passed
from tests.engagements.services.test_races import refusals, together
from tests.engagements.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db: None) -> World:
    """Committed, so that other connections see it."""
    return World()


def test_three_workers_compute_once(world: World) -> None:
    audit = world.auditing()
    keep(world, audit, DECODE.name, DECODE.read_bytes())
    engagement = audit.engagement
    results = together(*[lambda: checks.compute_when_due(engagement=engagement)] * 3)
    assert sorted(results) == [False, False, True]
    assert engagement.events.filter(verb="audit.computed").count() == 1


def test_what_is_computed_while_it_is_delivered_is_in_it_or_not_at_all(world: World) -> None:
    audit = world.auditing()
    keep(world, audit, DECODE.name, DECODE.read_bytes())
    together(
        lambda: audits.deliver(audit=audit, by=world.consultant),
        lambda: checks.compute_when_due(engagement=audit.engagement),
    )
    row = Audit.objects.get(pk=audit.pk)
    assert row.delivered_at is not None
    assert row.computed_verdict is not None
    assert row.computed_verdict.advice == row.outcome
    assert row.computed_at is not None
    assert row.computed_at <= row.delivered_at


def test_two_clicks_draft_one_contract(world: World) -> None:
    engagement = passed(world)
    by = world.consultant
    results = together(*[lambda: first_drafts.from_audit(engagement=engagement, by=by)] * 2)
    assert len(refusals(results)) == 1
    assert engagement.contracts.count() == 1
