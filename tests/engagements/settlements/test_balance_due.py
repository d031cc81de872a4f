"""After a settlement with a balance due, invoices ask for that balance and no more."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from itertools import count

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import reminders
from engagements.billing.balances import (
    balance_of,
    issued_invoices,
    open_invoices,
    overdue_invoices,
)
from engagements.billing.line_proposals import Match, proposals
from engagements.billing.milestones import milestone_lines
from engagements.billing.models import Invoice
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.finance import invoice_queries
from engagements.notifications.models import Mail
from engagements.payouts import refunds
from engagements.settlements import customer_accounts
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.concurrency import run_concurrently
from tests.engagements.world import World, days, received, today, undone
from tests.errors import declined

OnDay = Callable[[dt.date], None]
D = Decimal
references = (f"P-{number}" for number in count(100))


def with_balance_due(world: World) -> tuple[Settlement, Invoice]:
    """5,000.00 paid on the first part, 7,140.00 billed for the audit: 2,140.00 due."""
    contract = world.active()
    signed, audit = (contract.milestones.get(position=at) for at in (1, 2))
    world.pay(signed, D(5000))
    invoice = world.invoice(audit)
    world.conclude(world.request(contract), "missed")
    settlement = Settlement.objects.get(contract_version=contract)
    assert settlement.balance_due == D(2140)
    return settlement, invoice


def settle(world: World, settlement: Settlement) -> None:
    row = settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=row, reference="S-1", by=world.controller)


def pay(world: World, invoice: Invoice, amount: str, *, may_exceed: bool = False) -> None:
    received(
        invoice=invoice,
        amount=D(amount),
        received_on=today(),
        reference=next(references),
        by=world.finance,
        confirmed_by=world.controller,
        may_exceed=may_exceed,
    )


def due() -> list[Decimal]:
    return [row.amount_due for row in open_invoices()]


def account(settlement: Settlement) -> Decimal:
    engagement = settlement.contract_version.engagement
    [found] = customer_accounts.accounts_of(type(engagement).objects.filter(pk=engagement.pk))
    return found.balance


def page(client: Client, name: str, *args: object) -> str:
    return client.get(reverse(name, args=args)).content.decode()


def shown(amount: str) -> str:
    return format_money(D(amount), "EUR")


@pytest.mark.parametrize("is_paid", [False, True])
def test_no_more_than_the_balance_is_due(world: World, is_paid: bool) -> None:
    settlement, invoice = with_balance_due(world)
    if is_paid:
        settle(world, settlement)
    else:
        settlements.approve(settlement=settlement, by=world.finance)
    assert account(settlement) == D(2140)
    assert due() == [D(2140)]
    [total] = invoice_queries.totals_by_currency(issued_invoices())
    assert (total.open, total.overpaid) == (D(2140), D(0))
    lines = milestone_lines(settlement.contract_version.engagement)
    assert [line.open_amount for line in lines if line.open_amount] == [D(2140)]
    with pytest.raises(ApplicationError):
        pay(world, invoice, "2140.01")
    pay(world, invoice, "2000")
    assert due() == [D(140)]
    pay(world, invoice, "140")
    assert not any(row.amount_due for row in issued_invoices())


def test_an_overpaid_balance_is_refunded_by_a_further_settlement(world: World) -> None:
    settlement, invoice = with_balance_due(world)
    settle(world, settlement)
    pay(world, invoice, "2640", may_exceed=True)
    assert (due(), account(settlement)) == ([], D(-500))
    contract = settlement.contract_version
    further = settlements.propose(
        contract=contract, reason="further", note="Paid beyond.", by=world.controller
    )
    assert further.refund == D(500)
    assert due() == []


def test_a_payment_on_another_invoice_reduces_the_balance_and_a_void_restores_it(
    world: World,
) -> None:
    settlement, invoice = with_balance_due(world)
    settlements.approve(settlement=settlement, by=world.finance)
    signed = issued_invoices().exclude(pk=invoice.pk).get()
    with undone():
        pay(world, signed, "1000", may_exceed=True)
        assert due() == [D(1140)]
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    assert due() == [balance_of(invoice).open_amount] == [D(7140)]


def test_reminders_ask_for_the_balance_and_end_with_it(world: World, on_day: OnDay) -> None:
    settlement, invoice = with_balance_due(world)
    settle(world, settlement)
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(8))
    [late] = reminders.due()
    written = reminders.remind(invoice=late)
    assert written is not None
    assert written.open_amount == D(2140)
    mail = Mail.objects.filter(key__startswith="reminder:").first()
    assert mail is not None
    body = " ".join(mail.body.split())
    assert "EUR 2,140.00" in body
    assert "EUR 5,000.00" in body
    pay(world, invoice, "2140")
    on_day(invoice.due_on + days(30))
    assert (reminders.due(), reminders.remind(invoice=late)) == ([], None)


def test_portal_and_finance_show_the_balance(client: Client, world: World) -> None:
    settlement, invoice = with_balance_due(world)
    settle(world, settlement)
    reference = settlement.contract_version.engagement.reference
    client.force_login(world.finance)
    for name, *args in (("invoice", invoice.pk), ("invoices",)):
        assert shown("2140") in page(client, name, *args)
    assert 'value="2140.00"' in page(client, "payment-record", invoice.pk)
    assert csv_amounts(client)[invoice.reference] == "2140.00"
    client.force_login(world.signatory)
    first, bills = (page(client, name, reference) for name in PORTAL)
    assert shown("2140") in first
    assert shown("2140") in bills
    pay(world, invoice, "2640", may_exceed=True)
    assert shown("500") in page(client, "portal-invoices", reference)


PORTAL = ("portal-engagement", "portal-invoices")


def csv_amounts(client: Client) -> dict[str, str]:
    """The column "Open" of the list of invoices as CSV, by number."""
    answer = client.get(reverse("invoices"), {"format": "csv"})
    rows = csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig")))
    return {row["Number"]: row["Open"] for row in rows}


def test_a_proposed_balance_is_shown_to_no_customer_and_reminded_of_to_nobody(
    client: Client, world: World, on_day: OnDay
) -> None:
    settlement, invoice = with_balance_due(world)
    assert due() == []
    assert invoice_queries.totals_by_currency(issued_invoices()) == []
    reference = settlement.contract_version.engagement.reference
    client.force_login(world.signatory)
    for name in PORTAL:
        text = page(client, name, reference)
        assert shown("2140") not in text
        assert "<dt>Open</dt>" not in text
    client.force_login(world.finance)
    assert "<dt>Open</dt>" not in page(client, "invoice", invoice.pk)
    assert csv_amounts(client)[invoice.reference] == "0.00"
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(8))
    assert (reminders.due(), reminders.remind(invoice=invoice)) == ([], None)
    assert not overdue_invoices(today=today())
    settlements.approve(settlement=settlement, by=world.finance)
    [late] = reminders.due()
    written = reminders.remind(invoice=late)
    assert written is not None
    assert written.open_amount == D(2140)
    assert [row.pk for row in overdue_invoices(today=today())] == [invoice.pk]


def test_a_payment_after_the_proposal_is_recorded_and_needs_a_new_proposal(world: World) -> None:
    settlement, invoice = with_balance_due(world)
    [proposal] = proposals(imported(world, statement(("7140.00", invoice.reference))).lines.all())
    assert proposal.match == Match.EXACT
    with pytest.raises(ApplicationError):
        pay(world, invoice, "7140.01")
    pay(world, invoice, "2140")
    with declined("settlement.outdated"):
        settlements.approve(settlement=settlement, by=world.finance)
    settlements.void(settlement=settlement, reason="It was paid.", by=world.finance)
    again = settlements.propose(
        contract=settlement.contract_version, reason="missed", by=world.controller
    )
    assert (again.refund, again.balance_due) == (D(0), D(0))
    settlements.approve(settlement=again, by=world.finance)
    assert due() == []


@pytest.mark.django_db(transaction=True)
def test_a_payment_during_a_reminder_is_not_reminded_of_twice(
    transactional_db: None, on_day: OnDay
) -> None:
    world = World()
    settlement, invoice = with_balance_due(world)
    settle(world, settlement)
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(8))
    [late] = reminders.due()
    run_concurrently(
        lambda: received(
            invoice=invoice,
            amount=D(2140),
            received_on=today(),
            reference="R",
            by=world.finance,
            confirmed_by=world.controller,
        ),
        lambda: reminders.remind(invoice=late),
    )
    assert due() == []
    assert not reminders.due()
