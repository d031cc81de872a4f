"""Findings computed, delivered and overridden at once: each happens once, in one order."""

from __future__ import annotations

import pytest

from engagements.audit import findings
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.contracts import first_drafts
from tests.engagements.audit.test_findings import DECODE, keep
from tests.engagements.concurrency import errors_in, run_concurrently
from tests.engagements.contracts.test_first_drafts import passed
from tests.engagements.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db: None, world: World) -> World:
    """Committed, so that other connections see it."""
    return world


def test_three_workers_compute_once(world: World) -> None:
    audit = world.auditing()
    keep(world, audit.engagement, DECODE.name, DECODE.read_bytes())
    engagement = audit.engagement
    results = run_concurrently(*[lambda: findings.compute_when_due(engagement=engagement)] * 3)
    assert sorted(results) == [False, False, True]
    assert engagement.events.filter(verb="audit.computed").count() == 1


def test_what_is_computed_while_it_is_delivered_is_in_it_or_not_at_all(world: World) -> None:
    audit = world.auditing()
    keep(world, audit.engagement, DECODE.name, DECODE.read_bytes())
    run_concurrently(
        lambda: audits.deliver(audit=audit, by=world.consultant),
        lambda: findings.compute_when_due(engagement=audit.engagement),
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
    results = run_concurrently(*[lambda: first_drafts.from_audit(engagement=engagement, by=by)] * 2)
    assert len(errors_in(results)) == 1
    assert engagement.contracts.count() == 1
