"""Ten thousand steps through lives at random: the books stay right, whatever anybody asks.

`TWOFOLD_PROOF_STEPS=200000 pytest tests/engagements/proofs/test_life.py` takes more of them, at
random instead of the same ones each time.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engagements.proofs.life import Life
from tests.engagements.world import World

STEPS = int(os.environ.get("TWOFOLD_PROOF_STEPS", "10000"))
STEPS_A_LIFE = 60
# What lives have to have come to, or the proof proves too little.
REACHED = (
    "accept",
    "amend more_time",
    "decline",
    "withdraw",
    "issue invoice",
    "pay all",
    "pay one too much",
    "credit all",
    "credit half",
    "conclude run",
    "accept handover",
    "propose further",
    "approve",
    "settlement start",
    "settlement paid",
    "settlement void",
    "raise dispute",
    "resolve dispute",
    "close",
    "close month",
)


@pytest.mark.timeout(900)
def test_lives_at_random_leave_the_books_right(world: World) -> None:
    steps = Counter[str]()

    class Counted(Life):
        audited = {
            currency: world.audited(currency=currency) for currency in ("EUR", "USD", "JPY", "KWD")
        }
        granted = steps

    Counted.world = world
    run_state_machine_as_test(
        Counted,
        settings=settings(
            max_examples=max(STEPS // STEPS_A_LIFE, 1),
            stateful_step_count=STEPS_A_LIFE,
            deadline=None,
            database=None,
            derandomize="TWOFOLD_PROOF_STEPS" not in os.environ,
            suppress_health_check=list(HealthCheck),
        ),
    )
    if STEPS >= 10_000:
        assert [name for name in REACHED if not steps[name]] == []
