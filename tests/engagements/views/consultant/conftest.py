"""The consultant at work, and an audit with something to compute from."""

from __future__ import annotations

import pytest
from django.test import Client

from engagements.models import Audit
from tests.engagements import evidence_world as kept
from tests.engagements.world import World


@pytest.fixture
def signed_in(client: Client, world: World) -> Client:
    client.force_login(world.consultant)
    return client


@pytest.fixture
def audit(world: World) -> Audit:
    """Under way, with the trace of a decode step and a log of shapes."""
    audit = world.auditing()
    kept.added(audit.engagement, world.consultant, kept.DECODE)
    kept.added(audit.engagement, world.consultant, "calls.csv", kept.TRAFFIC)
    return audit
