"""Six thousand steps through lives at random: the books stay right, whatever anybody asks.

`TWOFOLD_PROOF_STEPS=200000 pytest tests/engagements/proofs/test_life.py` takes more of them, at
random instead of the same ones each time.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engagements.proofs.life import Life
from tests.engagements.world import World

AT_RANDOM = "TWOFOLD_PROOF_STEPS" in os.environ
STEPS = int(os.environ.get("TWOFOLD_PROOF_STEPS", "6000"))
# So that several processors take them, and nobody waits for all of them.
PARTS = 10
STEPS_A_LIFE = 60
# What the lives of all parts have to have come to, or the proof proves too little.
REACHED = (
    "accept",
    "amend more_time",
    "decline",
    "withdraw",
    "issue invoice",
    "pay all",
    "pay one too much",
    "move",
    "pay back",
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


@pytest.fixture(scope="session")
def together(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> Path:
    """A folder that the processes of a session share, for what each part's lives came to."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"lives-{testrun_uid}"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_lives_at_random_leave_the_books_right(world: World, part: int, together: Path) -> None:
    steps = Counter[str]()

    class Counted(Life):
        audited = {
            currency: world.audited(currency=currency) for currency in ("EUR", "USD", "JPY", "KWD")
        }
        granted = steps

    Counted.world = world
    run_state_machine_as_test(
        Counted if AT_RANDOM else seed(part)(Counted),
        settings=settings(
            max_examples=max(STEPS // PARTS // STEPS_A_LIFE, 1),
            stateful_step_count=STEPS_A_LIFE,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    (together / f"{part}.json").write_text(json.dumps(steps))
    done = [json.loads(path.read_text()) for path in together.glob("*.json")]
    if STEPS >= 6_000 and len(done) == PARTS:
        reached = {name for each in done for name in each}
        assert [name for name in REACHED if name not in reached] == []
