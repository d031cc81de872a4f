"""Several at once, on real connections: no gap, nothing twice, never too much credited."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engagements.billing import credit_note_drafts, credit_notes, invoices
from engagements.billing.models import Counter, Invoice
from engagements.engagement.models import Engagement
from tests.engagements.concurrency import errors_in, run_concurrently
from tests.engagements.world import World

pytestmark = pytest.mark.django_db(transaction=True)

D = Decimal
THREADS = 8


@pytest.fixture
def world(transactional_db: None, world: World) -> World:
    """Committed, so that other connections see it."""
    return world


def numbers(series: str) -> list[int | None]:
    rows = Invoice.objects.filter(series=series).order_by("number")
    return list(rows.values_list("number", flat=True))


def test_eight_concurrent_issues_leave_no_gap(world: World) -> None:
    drafts = [
        invoices.draft(milestones=[contract.milestones.get(position=1)], by=world.finance)
        for contract in (world.active() for _ in range(THREADS))
    ]
    results = run_concurrently(
        *(lambda row=row: invoices.issue(invoice=row, by=world.finance) for row in drafts)
    )
    assert not errors_in(results)
    assert numbers("INV") == list(range(1, THREADS + 1))
    assert Counter.objects.get().last == THREADS


def test_one_draft_issued_by_eight_is_one_invoice(world: World) -> None:
    part = world.active().milestones.get(position=1)
    draft = invoices.draft(milestones=[part], by=world.finance)
    results = run_concurrently(*[lambda: invoices.issue(invoice=draft, by=world.finance)] * THREADS)
    assert {row.reference for row in results} == {results[0].reference}
    assert numbers("INV") == [1]
    assert Engagement.objects.get().events.filter(verb="invoice.issued").count() == 1


def test_two_concurrent_drafts_of_a_milestone_leave_one(world: World) -> None:
    contract = world.active()
    first, second = contract.milestones.filter(position__lte=2).order_by("position")
    results = run_concurrently(
        lambda: invoices.draft(milestones=[first], by=world.finance),
        lambda: invoices.draft(milestones=[first, second], by=world.controller),
    )
    assert len(errors_in(results)) == 1
    assert Invoice.objects.count() == 1


def test_two_credit_notes_at_once_never_take_back_more_than_there_is(world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    results = run_concurrently(
        *[lambda: credit_notes.credit(invoice=invoice, net=D(7000), reason="Late.")] * 2
    )
    assert len(errors_in(results)) == 1
    assert numbers("CN") == [1]


def test_a_credit_sent_twice_is_issued_once(world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    results = run_concurrently(
        *[
            lambda: credit_note_drafts.draft(
                invoice=invoice,
                net=D(10),
                reason="Late.",
                by=world.finance,
                expected_credited=D(0),
            )
        ]
        * 2
    )
    assert len({row.reference for row in results}) == 1
