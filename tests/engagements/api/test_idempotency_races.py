"""Two requests with one Idempotency-Key at once are one write."""

from __future__ import annotations

import pytest

from engagements.runs.models import EngagementRun
from tests.engagements.api_program import Program
from tests.engagements.concurrency import run_concurrently
from tests.engagements.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_key_sent_twice_at_once_requests_one_run() -> None:
    world = World()
    reference = world.auditing().engagement.reference
    body = {
        "engagement": reference,
        "candidate": world.solution.pk,
        "benchmark": world.benchmark.pk,
        "purpose": "trial",
    }
    programs = [Program(world.consultant) for _ in range(4)]
    answers = run_concurrently(
        *(lambda each=each: each.post("runs/", body, Idempotency_Key="k") for each in programs)
    )
    assert [answer.status_code for answer in answers] == [201] * 4
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert sum("Idempotent-Replayed" in answer for answer in answers) == 3
    assert EngagementRun.objects.count() == 1
