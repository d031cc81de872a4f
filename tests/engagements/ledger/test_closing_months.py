"""Two people close a month with its checklist, and two people reopen it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import credit_note_drafts, invoices, write_offs
from engagements.finance import closing_checklist
from engagements.ledger import periods, posting
from engagements.ledger.models import Account
from engagements.ledger.period_models import Period, PeriodReopening, PeriodTotal
from engagements.ledger.queries import trial_balance
from engagements.notifications.models import Mail
from tests.database_constraints import violates, write
from tests.engagements.ledger.test_posting import post
from tests.engagements.payouts.test_csv_confirmations import csv
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, closed_month
from tests.errors import declined

MARCH, APRIL = dt.date(2026, 3, 1), dt.date(2026, 4, 1)


def _last_month() -> dt.date:
    return (timezone.localdate().replace(day=1) - dt.timedelta(days=1)).replace(day=1)


def test_a_checklist_counts_the_items_of_its_month_and_earlier_ones(world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    invoices.draft(milestones=[contract.milestones.get(position=2)], by=world.finance)
    write_offs.propose(
        invoice=invoice, kind="bad_debt", amount=Decimal(900), reason="x", by=world.finance
    )
    credit_note_drafts.draft(invoice=invoice, net=Decimal(100), reason="x", by=world.finance)
    csv(world, ("5.00", "unknown"))
    world.paid_beyond(invoice, Decimal(100), "keyed")
    this_month = timezone.localdate().replace(day=1)

    def items(month: dt.date) -> dict[str, int]:
        return {check.label: check.count for check in closing_checklist.checks(month)}

    assert set(items(_last_month()).values()) == {0}
    open_items = items(this_month)
    vat = open_items.pop("VAT that differs from the ledger")
    settled = open_items.pop("Settlements to approve or void")
    charges = open_items.pop("Charges to approve or void") + open_items.pop("Charges to bill")
    assert (vat, settled, charges) == (0, 0, 0)
    assert set(open_items.values()) == {1}
    # 100 came in by hand, and a line of 5 is not assigned.
    assert closing_checklist.in_suspense(this_month) == {"EUR": Decimal(95)}


def test_a_month_is_closed_by_two_people_with_its_checklist(world: World) -> None:
    month = _last_month()
    contract = world.active()
    world.bill(contract.milestones.get(position=1))
    # The contract's audit was released then, and is not billed.
    contract.milestones.filter(position=2).update(
        released_at=timezone.now().replace(month=month.month, year=month.year, day=9)
    )
    with declined("period.note_required"):
        closing_checklist.propose(month=month, note=" ", by=world.finance)
    row = closing_checklist.propose(month=month, note="Billed next month.", by=world.finance)
    assert [count for _, count in row.open_items] == [1]
    assert Mail.objects.get(key=f"finance:{row.subject}").recipient == world.controller.email
    with declined("period.same_person"):
        closing_checklist.approve(period=row, by=world.finance)
    with violates("period.approved_by_another"):
        write(row, state="closed", approved_by=world.finance, decided_at=timezone.now())
    with violates("period.start"):
        Period.objects.create(
            month=APRIL, proposed_by=world.finance, state="closed", approved_by=world.controller
        )
    assert not posting.is_closed(month)
    with declined("period.checklist_changed"):
        periods.approve(period=row, checklist=[("Drafts", 1)], by=world.controller)
    for _ in range(2):
        closing_checklist.approve(period=row, by=world.controller)
    assert posting.is_closed(month)
    with violates("period.decision"):
        write(row, approved_by=world.admin)


def test_only_the_latest_month_is_reopened_and_by_two_people(world: World) -> None:
    march, april = closed_month(world, MARCH), closed_month(world, APRIL)
    with declined("period.not_the_latest"):
        periods.propose_reopening(period=march, reason="Late line", by=world.finance)
    row = closing_checklist.propose_reopening(period=april, reason="Late", by=world.finance)
    with declined("period_reopening.same_person"):
        closing_checklist.approve_reopening(reopening=row, by=world.finance)
    with violates("periodreopening.approved_by_another"):
        write(row, state="posted", approved_by=world.finance, decided_at=timezone.now())
    with violates("period.reopened"):
        write(april, state="reopened")
    closing_checklist.approve_reopening(reopening=row, by=world.controller)
    assert periods.last_closed() == MARCH
    assert Mail.objects.filter(key=f"finance:{row.subject}:posted").exists()
    with violates("period.state_move"):
        write(april, state="closed")


def test_a_voided_reopening_leaves_the_month_closed(world: World) -> None:
    row = periods.propose_reopening(
        period=closed_month(world, MARCH), reason="Late", by=world.finance
    )
    periods.void_reopening(reopening=row, by=world.controller)
    assert periods.last_closed() == MARCH
    with declined("validation.state"):
        periods.approve_reopening(reopening=row, by=world.controller)


def test_a_reopened_month_counts_what_is_posted_to_it_when_it_is_closed_again(
    world: World,
) -> None:
    engagement = world.scoping()
    post(world, engagement=engagement)
    closed_month(world, MARCH)
    with declined("period.closed"):
        post(world, engagement=engagement, key="payment:2")
    row = periods.propose_reopening(period=Period.objects.get(), reason="x", by=world.finance)
    periods.approve_reopening(reopening=row, by=world.controller)
    post(world, engagement=engagement, key="payment:2")
    assert _bank() == 200
    again = closed_month(world, MARCH)
    assert PeriodTotal.objects.get(period=again, account__code="bank").debit == 200
    assert _bank() == 200


def _bank() -> Decimal:
    bank = Account.objects.get(code="bank")
    return next(row.balance for row in trial_balance() if row.account == bank)


@pytest.mark.parametrize(
    ("who", "status"), [("stranger", 404), ("consultant", 403), ("admin", 403)]
)
def test_only_finance_closes_and_reopens(
    client: Client, world: World, who: str, status: int
) -> None:
    march = closed_month(world, MARCH)
    reopening = periods.propose_reopening(period=march, reason="x", by=world.finance)
    sign_in(client, getattr(world, who))
    for name, pk in (
        ("closing-approve", march.pk),
        ("closing-void", march.pk),
        ("closing-reopen", march.pk),
        ("reopening-approve", reopening.pk),
        ("reopening-void", reopening.pk),
    ):
        assert client.post(reverse(name, args=[pk])).status_code == status
    assert PeriodReopening.objects.get().state == "proposed"
