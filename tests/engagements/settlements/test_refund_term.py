"""The day by which a refund is paid: agreed, sealed, counted from the proposal, and watched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import services as contracts
from engagements.contracts.models import ContractVersion
from engagements.contracts.terms import terms_of
from engagements.documents import registry, render
from engagements.documents.registry import Subject
from engagements.payouts import refunds
from engagements.settlements import disputes, queues
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queues import Queue
from tests.engagements.world import World, days, today


@pytest.fixture
def proposed(world: World) -> Settlement:
    """Proposed today, under a contract that gives its refund ten days."""
    return world.settlement(refund_days=10)


def is_listed(settlement: Settlement) -> bool:
    """Whether finance finds it among the overdue, which says the same as the row itself."""
    row = Settlement.objects.get(pk=settlement.pk)
    found = queues.found(queue=Queue.OVERDUE).filter(pk=row.pk).exists()
    assert found == row.is_refund_overdue
    assert queues.counts()[Queue.OVERDUE] == found
    return found


def test_the_term_is_sealed_and_fourteen_days_unless_agreed_otherwise(world: World) -> None:
    assert terms_of(world.offered())["refund_days"] == 14
    assert terms_of(world.offered(refund_days=30))["refund_days"] == 30


def test_a_term_that_cannot_be_is_refused_by_the_database_too(world: World) -> None:
    contract = world.drafted()
    for days_given in (0, 61):
        with pytest.raises(ApplicationError, match="1 to 60 days"):
            contracts.draft(engagement=world.audited(), **world.terms(refund_days=days_given))
        with pytest.raises(IntegrityError), transaction.atomic():
            ContractVersion.objects.filter(pk=contract.pk).update(refund_days=days_given)


def test_a_refund_is_overdue_once_its_last_day_has_passed(
    proposed: Settlement, on_day: Callable[[dt.date], None]
) -> None:
    due_on = today() + days(10)
    assert proposed.refund_due_on == due_on
    on_day(due_on)
    assert not is_listed(proposed)
    on_day(due_on + days(1))
    assert is_listed(proposed)


def test_approving_late_gives_no_more_time(
    world: World, proposed: Settlement, on_day: Callable[[dt.date], None]
) -> None:
    due_on = proposed.refund_due_on
    on_day(today() + days(9))
    row = settlements.approve(settlement=proposed, by=world.controller)
    assert row.refund_due_on == due_on


def test_a_dispute_stops_the_days_and_its_end_begins_them_anew(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    row = world.settlement(refund_days=10, dispute_days=14)
    start = today()
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    on_day(start + days(20))
    assert Settlement.objects.get(pk=row.pk).refund_due_on is None
    assert not is_listed(row)
    disputes.resolve_open(settlement=row, note="It stays.", by=world.finance)
    assert Settlement.objects.get(pk=row.pk).refund_due_on == start + days(30)
    on_day(start + days(31))
    assert is_listed(row)


def anew(settlement: Settlement, world: World) -> Settlement:
    """The settlement set aside, and proposed again."""
    settlements.void(settlement=settlement, reason="Once more.", by=world.finance)
    contract = settlement.contract_version
    return settlements.propose(contract=contract, reason="missed", by=world.finance)


def paid(settlement: Settlement, world: World) -> Settlement:
    settlements.approve(settlement=settlement, by=world.controller)
    return refunds.mark_paid(settlement=settlement, reference="R-1", by=world.controller)


def test_what_is_set_aside_is_not_overdue_and_what_takes_its_place_keeps_the_day(
    world: World, proposed: Settlement, on_day: Callable[[dt.date], None]
) -> None:
    due_on = proposed.refund_due_on
    on_day(today() + days(6))
    again = anew(anew(proposed, world), world)
    assert again.refund_due_on == due_on
    on_day(today() + days(4))
    assert not is_listed(again)
    on_day(today() + days(1))
    assert is_listed(again)
    on_paper = registry.kind_of("settlement_statement")
    paper = on_paper.compose(Subject("settlement", paid(again, world).pk))
    assert not is_listed(again)
    assert due_on is not None
    text = render.markup(paper)
    assert f"gives 10 days from {in_words(due_on - days(10))}, until {in_words(due_on)}." in text
    assert text.count("set aside and proposed anew") == 2


def test_what_is_set_aside_and_not_proposed_again_is_overdue_all_the_same(
    world: World, proposed: Settlement, on_day: Callable[[dt.date], None], client: Client
) -> None:
    due_on = proposed.refund_due_on
    assert due_on is not None
    settlements.void(settlement=proposed, reason="Wrong tax.", by=world.finance)
    assert not is_listed(proposed)
    on_day(due_on + days(1))
    assert is_listed(proposed)
    client.force_login(world.finance)
    overview = client.get(reverse("finance")).content.decode()
    assert "1 overdue" in overview
    assert "it was set aside, propose it anew" in overview
    page = client.get(reverse("settlement", args=[proposed.pk])).content.decode()
    engagement = proposed.contract_version.engagement
    assert reverse("settlement-propose", args=[engagement.reference]) in page
    assert "The refund was due on" in page
    client.force_login(world.consultant)
    board = client.get(reverse("board")).content.decode()
    assert f"propose it anew. The refund was due by {in_words(due_on)} and is late." in board
    again = settlements.propose(
        contract=proposed.contract_version, reason="missed", by=world.finance
    )
    assert is_listed(again)
    assert not Settlement.objects.get(pk=proposed.pk).is_refund_overdue


def test_whose_turn_it_is_while_a_settlement_is_disputed(world: World, client: Client) -> None:
    row = world.settlement(dispute_days=14)
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    client.force_login(world.consultant)
    assert "Resolve the customer&#x27;s dispute" in client.get(reverse("board")).content.decode()


def test_setting_a_disputed_one_aside_ends_the_dispute_from_which_the_days_count(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    row = world.settlement(refund_days=10, dispute_days=14)
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    on_day(today() + days(5))
    again = anew(row, world)
    on_day(today() + days(3))
    assert again.refund_due_on == today() + days(7)
    assert not is_listed(again)
    on_day(today() + days(8))
    assert is_listed(again)


def test_one_that_sent_nothing_back_or_was_paid_begins_no_days_of_a_later_one(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    contract = world.active(refund_days=10)
    invoice = world.invoice(contract.milestones.get(position=1))
    world.conclude(world.request(contract), "missed")
    owed = contract.settlements.get()
    settlements.void(settlement=owed, reason="They pay after all.", by=world.finance)
    assert not is_listed(owed)
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
    assert not is_listed(further)


def test_where_nothing_goes_back_or_no_term_was_agreed_nothing_falls_due(world: World) -> None:
    without = world.settlement(refund_days=None)
    owed = world.missed(paid=0).settlements.get()
    for row in (without, owed):
        assert row.refund_due_on is None
        assert not row.is_refund_overdue
