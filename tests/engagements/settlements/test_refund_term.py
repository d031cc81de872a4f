"""The refund term: agreed, sealed, counted from the first proposal, and watched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from engagements.common.errors import ApplicationError
from engagements.contracts import services as contracts
from engagements.contracts.models import ContractVersion
from engagements.contracts.terms import terms_of
from engagements.disputes import services as measured
from engagements.documents import registry
from engagements.documents.registry import Subject
from engagements.payouts import refunds
from engagements.settlements import disputes, queues
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queues import Queue
from tests.engagements.world import World, days, today, undone

OnDay = Callable[[dt.date], None]


@pytest.fixture
def proposed(world: World) -> Settlement:
    """Proposed today, under a contract with a refund term of 10 days."""
    return world.settlement(refund_days=10)


def is_overdue(settlement: Settlement) -> bool:
    """Whether it is overdue, by its row and by its queue alike."""
    row = Settlement.objects.get(pk=settlement.pk)
    found = queues.found(queue=Queue.OVERDUE).filter(pk=row.pk).exists()
    assert found == row.is_refund_overdue
    assert queues.counts()[Queue.OVERDUE] == found
    return found


def repropose(settlement: Settlement, world: World) -> Settlement:
    settlements.void(settlement=settlement, reason="Once more.", by=world.finance)
    contract = settlement.contract_version
    return settlements.propose(contract=contract, reason="missed", by=world.finance)


def paid(settlement: Settlement, world: World) -> Settlement:
    settlements.approve(settlement=settlement, by=world.controller)
    return refunds.mark_paid(settlement=settlement, reference="R-1", by=world.finance)


def test_the_term_is_sealed_and_14_days_by_default(world: World) -> None:
    assert terms_of(world.offered())["refund_days"] == 14
    assert terms_of(world.offered(refund_days=30))["refund_days"] == 30


def test_an_invalid_term_is_refused_by_the_database_too(world: World) -> None:
    contract, engagement = world.drafted(), world.audited()
    for refund_days in (0, 61):
        with pytest.raises(ApplicationError):
            contracts.draft(engagement=engagement, **world.terms(refund_days=refund_days))
        with pytest.raises(IntegrityError), transaction.atomic():
            ContractVersion.objects.filter(pk=contract.pk).update(refund_days=refund_days)


def test_a_refund_is_overdue_after_its_last_day_whenever_it_was_approved(
    world: World, proposed: Settlement, on_day: OnDay
) -> None:
    due_on = today() + days(10)
    assert proposed.refund_due_on == due_on
    on_day(due_on)
    row = settlements.approve(settlement=proposed, by=world.controller)
    assert row.refund_due_on == due_on
    assert not is_overdue(row)
    on_day(due_on + days(1))
    assert is_overdue(row)


def test_a_dispute_restarts_the_term_when_it_ends(world: World, on_day: OnDay) -> None:
    row = world.settlement(refund_days=10, dispute_days=14)
    start = today()
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    with undone():
        on_day(start + days(5))
        again = repropose(row, world)
        assert again.refund_due_on == start + days(15)
        on_day(start + days(15))
        assert not is_overdue(again)
        on_day(start + days(16))
        assert is_overdue(again)
    on_day(start + days(20))
    assert Settlement.objects.get(pk=row.pk).refund_due_on is None
    assert not is_overdue(row)
    disputes.resolve_open(settlement=row, note="It stays.", by=world.finance)
    assert Settlement.objects.get(pk=row.pk).refund_due_on == start + days(30)
    on_day(start + days(31))
    assert is_overdue(row)


def test_the_dispute_of_a_run_restarts_the_term_too(world: World, on_day: OnDay) -> None:
    row = world.settlement(refund_days=10)
    run = row.contract_version.engagement.runs.get(final_at__isnull=False)
    start = today()
    dispute = measured.raise_dispute(
        run=run, reason="A slow machine.", repeater="customer", by=world.signatory
    )
    on_day(start + days(20))
    assert not is_overdue(row)
    measured.withdraw(dispute=dispute, by=world.signatory)
    assert Settlement.objects.get(pk=row.pk).refund_due_on == start + days(30)
    assert not is_overdue(row)
    on_day(start + days(31))
    assert is_overdue(row)


def test_a_new_proposal_keeps_the_due_date_and_is_listed_on_the_statement(
    world: World, proposed: Settlement, on_day: OnDay
) -> None:
    start = today()
    on_day(start + days(6))
    again = repropose(repropose(proposed, world), world)
    assert again.refund_due_on == start + days(10)
    on_day(start + days(10))
    assert not is_overdue(again)
    on_day(start + days(11))
    assert is_overdue(again)
    subject = Subject("settlement", paid(again, world).pk)
    paper = registry.kind_of("settlement_statement").compose(subject)
    assert not is_overdue(again)
    assert [step["what"] for step in paper.context["steps"]].count("Proposed") == 3


def test_a_voided_settlement_without_a_successor_becomes_overdue(
    world: World, proposed: Settlement, on_day: OnDay, client: Client
) -> None:
    due_on = proposed.refund_due_on
    assert due_on is not None
    settlements.void(settlement=proposed, reason="Wrong tax.", by=world.finance)
    assert not is_overdue(proposed)
    on_day(due_on + days(1))
    assert is_overdue(proposed)
    client.force_login(world.finance)
    overview = client.get(reverse("finance")).content.decode()
    assert f"{reverse('settlements')}?queue=overdue" in overview
    page = client.get(reverse("settlement", args=[proposed.pk])).content.decode()
    engagement = proposed.contract_version.engagement
    assert reverse("settlement-propose", args=[engagement.reference]) in page
    again = settlements.propose(
        contract=proposed.contract_version, reason="missed", by=world.finance
    )
    assert is_overdue(again)
    assert not Settlement.objects.get(pk=proposed.pk).is_refund_overdue


def test_settlements_without_refund_and_paid_ones_start_no_term(
    world: World, on_day: OnDay
) -> None:
    contract = world.active(refund_days=10)
    invoice = world.invoice(contract.milestones.get(position=1))
    world.conclude(world.request(contract), "missed")
    owed = contract.settlements.get()
    assert owed.refund_due_on is None
    settlements.void(settlement=owed, reason="They pay after all.", by=world.finance)
    assert not is_overdue(owed)
    on_day(today() + days(5))
    world.paid_beyond(invoice, invoice.gross, "late")
    first = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert first.refund_due_on == today() + days(10)
    paid(first, world)
    on_day(today() + days(20))
    further = settlements.propose(
        contract=contract,
        reason="further",
        note="We were late.",
        audit_cost=Decimal(0),
        by=world.finance,
    )
    assert further.refund_due_on == today() + days(10)
    assert not is_overdue(further)


def test_without_an_agreed_term_there_is_no_due_date(world: World) -> None:
    row = world.settlement(refund_days=None)
    assert row.refund_due_on is None
    assert not row.is_refund_overdue
