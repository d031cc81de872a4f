"""Many users propose, approve, pay and issue invoices of one contract concurrently.

`TWOFOLD_PROOF_ROUNDS=200 pytest -m soak --timeout 3600` with this file runs 200 rounds.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, connections

from engagements.billing import invoices, payments
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common.errors import ApplicationError
from engagements.contracts.models import ContractVersion
from engagements.event_log import events, verify
from engagements.event_log.models import Event
from engagements.payouts import refunds
from engagements.payouts.models import Transfer
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.proofs.clock import Clock, turned
from tests.engagements.proofs.invariants import SealedRows, check_invariants
from tests.engagements.world import World

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = int(os.environ.get("TWOFOLD_PROOF_ROUNDS", "8"))
Act = Callable[[], Any]


@pytest.fixture
def world(transactional_db: None, world: World) -> World:
    """Committed, so that other connections see it."""
    return world


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    with turned(clock):
        yield clock


def crowd(scripts: list[list[Act]]) -> Counter[str]:
    """Run the scripts concurrently, each on its own connection; count the outcomes.

    Raises what is not an ApplicationError: a deadlock, or a bare constraint.
    """
    start = Barrier(len(scripts))

    def play(script: list[Act]) -> Counter[str]:
        outcomes = Counter[str]()
        start.wait(timeout=60)
        try:
            for act in script:
                try:
                    outcomes["done" if act() is not None else "nothing to do"] += 1
                except ApplicationError:
                    outcomes["refused"] += 1
        finally:
            connections.close_all()
        return outcomes

    with ThreadPoolExecutor(len(scripts)) as pool:
        return sum(pool.map(play, scripts), Counter[str]())


def deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return cursor.fetchone()[0]


def script(world: World, contract: ContractVersion, draft: Invoice, who: int) -> list[Act]:
    """The steps of one user, in a random order."""
    people = (world.finance, world.controller, world.consultant, world.admin)
    by = people[who % len(people)]
    billed = contract.engagement.invoices.get(state="issued")

    def live() -> Settlement | None:
        rows = Settlement.objects.filter(contract_version=contract)
        return rows.exclude(state__in=["voided", "paid"]).first()

    def approve() -> Settlement | None:
        row = live()
        return row and settlements.approve(settlement=row, by=by)

    def pay() -> Settlement | None:
        row = live()
        return row and refunds.mark_paid(settlement=row, reference="SEPA-1", by=by)

    acts: list[Act] = [
        lambda: settlements.propose(contract=contract, reason="time_box", by=by),
        approve,
        pay,
        lambda: invoices.issue(invoice=draft, by=by),
        lambda: payments.record(
            invoice=billed,
            amount=billed.gross,
            received_on=Clock().now.date(),
            reference="P-1",
            by=by,
        ),
    ]
    random.Random(who).shuffle(acts)
    # Steps that came too early are repeated.
    return [*acts, approve, pay]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("users", "rounds"), [(12, 2), pytest.param(32, ROUNDS, marks=pytest.mark.soak)]
)
def test_concurrent_users_leave_one_settlement_no_gap_and_no_deadlock(
    world: World, clock: Clock, users: int, rounds: int
) -> None:
    kept, before = SealedRows(), deadlocks()
    for number in range(rounds):
        contract = world.active()
        first, second = contract.milestones.order_by("position")[:2]
        # In every other round there is nothing to refund.
        (world.pay if number % 2 else world.invoice)(first)
        draft = invoices.draft(milestones=[second], by=world.finance)
        clock.pass_days(90)
        outcomes = crowd([script(world, contract, draft, who) for who in range(users)])
        assert outcomes["done"] > 0
        rows = Settlement.objects.filter(contract_version=contract)
        assert rows.exclude(state="voided").count() == 1
        assert Transfer.objects.filter(settlement__contract_version=contract).count() <= 1
        paid = Payment.objects.filter(invoice__engagement=contract.engagement)
        assert paid.filter(reference="P-1").count() <= 1
        draft.refresh_from_db()
        check_invariants(kept)
    assert verify.verify().is_intact
    assert deadlocks() == before


def test_events_recorded_concurrently_without_a_lock_form_one_chain(world: World) -> None:
    threads = 16
    engagement = world.scoping()

    def act() -> Event:
        return events.record(
            engagement=engagement, verb="time.noted", summary="At once.", actor=None
        )

    outcomes = crowd([[act, act]] * threads)
    assert outcomes == {"done": 2 * threads}
    report = verify.verify()
    assert report.is_intact
    assert report.events == 2 * threads + 1
