"""Random operations on one engagement keep the books correct.

`TWOFOLD_PROOF_STEPS=200000 pytest -m soak tests/engagements/proofs/test_life.py` runs more steps,
with new seeds each time.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from django.conf import LazySettings
from hypothesis import HealthCheck
from hypothesis.stateful import run_state_machine_as_test

from tests.engagements.orders.test_audit_orders import accepted, delivered
from tests.engagements.proofs.life import Life
from tests.engagements.proofs.lives.bank_actions import CSV_ACCOUNT
from tests.engagements.world import World, fresh

AT_RANDOM = "TWOFOLD_PROOF_STEPS" in os.environ
STEPS = int(os.environ.get("TWOFOLD_PROOF_STEPS", "10000"))
# Each part is one test, so several processors share them.
PARTS = 10
STEPS_A_LIFE = 60
SHORT_LIVES = 4
# Operations that all parts together must have completed at least once.
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
    "issue credit note",
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
    "reopen month",
    "approve reversal",
    "approve write-off",
    "assign line",
    "clear suspense",
    "import csv",
    "choose columns",
    "confirm csv",
    "assign csv line",
    "match executed",
    "match returned",
    "return of a paid refund",
    "pay a returned refund again",
    "credit after a settlement",
    "bill audit order",
    "propose maintenance",
    "approve charge",
    "bill charge",
    "cancel charge",
    "approve termination",
    "bill termination",
)


@pytest.fixture(autouse=True)
def account_of_csvs(settings: LazySettings) -> None:
    settings.OTHER_BANK_ACCOUNTS = [CSV_ACCOUNT]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> Path:
    """A folder that the processes of a session share, for the counts of each part."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"lives-{testrun_uid}"
    folder.mkdir(exist_ok=True)
    return folder


def live(world: World, *, lives: int, seed: int | None) -> Counter[str]:
    """Run random lives; return how often each operation was completed."""
    completed = Counter[str]()

    class Counted(Life):
        audited = {
            currency: world.audited(currency=currency) for currency in ("EUR", "USD", "JPY", "KWD")
        }
        ordered = fresh(delivered(world, accepted(world), "decline").engagement)
        granted = completed

    Counted.world = world
    run_state_machine_as_test(
        Counted if seed is None else hypothesis.seed(seed)(Counted),
        settings=hypothesis.settings(
            max_examples=lives,
            stateful_step_count=STEPS_A_LIFE,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return completed


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_random_lives_keep_the_books_correct(world: World, seed: int) -> None:
    assert live(world, lives=SHORT_LIVES, seed=seed)["accept"] > 0


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_many_random_lives_keep_the_books_correct(world: World, part: int, results: Path) -> None:
    lives = max(STEPS // PARTS // STEPS_A_LIFE, 1)
    completed = live(world, lives=lives, seed=None if AT_RANDOM else part)
    (results / f"{part}.json").write_text(json.dumps(completed))
    done = [json.loads(path.read_text()) for path in results.glob("*.json")]
    if STEPS >= 10_000 and len(done) == PARTS:
        assert {name for each in done for name in each} >= set(REACHED)
