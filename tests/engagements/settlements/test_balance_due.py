"""What a settlement leaves to be paid is all that is asked for: what came in for another invoice
of the engagement is not asked for once more."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import count

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from engagements.billing import payments, reminders
from engagements.billing.balances import (
    balance_of,
    issued_invoices,
    open_invoices,
    overdue_invoices,
)
from engagements.billing.milestones import milestone_lines
from engagements.billing.models import Invoice
from engagements.billing.reconciliation import Match, proposals
from engagements.common.errors import ApplicationError
from engagements.finance import invoice_queries
from engagements.notifications.models import Mail
from engagements.payouts import refunds
from engagements.settlements import customer_accounts
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.settlements.test_races import together
from tests.engagements.world import World, days, today
from tests.errors import declined

OnDay = Callable[[dt.date], None]
D = Decimal
references = (f"P-{number}" for number in count(100))


def left_due(world: World) -> tuple[Settlement, Invoice]:
    """5,000.00 paid of the first part, the audit's 7,140.00 billed: settled with 2,140.00 due."""
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
    refunds.mark_paid(settlement=row, reference="S-1", by=world.finance)


def pay(world: World, invoice: Invoice, amount: str, *, may_exceed: bool = False) -> None:
    payments.record(
        invoice=invoice,
        amount=D(amount),
        received_on=today(),
        reference=next(references),
        by=world.finance,
        may_exceed=may_exceed,
    )


def asked() -> list[Decimal]:
    return [row.amount_due for row in open_invoices()]


def account(settlement: Settlement) -> Decimal:
    own = type(settlement.contract_version.engagement).objects.filter(
        pk=settlement.contract_version.engagement_id
    )
    [found] = customer_accounts.accounts_of(own)
    return found.balance


def portal(client: Client, world: World, settlement: Settlement, name: str) -> str:
    client.force_login(world.signatory)
    reference = settlement.contract_version.engagement.reference
    return " ".join(client.get(reverse(name, args=[reference])).content.decode().split())


@pytest.mark.parametrize("is_paid", [False, True])
def test_no_more_is_asked_than_the_settlement_left_due(world: World, is_paid: bool) -> None:
    settlement, invoice = left_due(world)
    if is_paid:
        settle(world, settlement)
    else:
        settlements.approve(settlement=settlement, by=world.finance)
    assert account(settlement) == D(2140)
    assert asked() == [D(2140)]
    [total] = invoice_queries.totals_by_currency(issued_invoices())
    assert (total.open, total.overpaid) == (D(2140), D(0))
    lines = milestone_lines(settlement.contract_version.engagement)
    assert [line.open_amount for line in lines if line.open_amount] == [D(2140)]
    with declined("payment.exceeds_open_amount"):
        pay(world, invoice, "2140.01")
    pay(world, invoice, "2000")
    assert asked() == [D(140)]
    pay(world, invoice, "140")
    assert asked() == []
    assert not any(row.amount_due for row in issued_invoices())


def test_what_is_paid_beyond_goes_back_and_nothing_is_asked_for(world: World) -> None:
    settlement, invoice = left_due(world)
    settle(world, settlement)
    pay(world, invoice, "2640", may_exceed=True)
    assert (asked(), account(settlement)) == ([], D(-500))
    contract = settlement.contract_version
    further = settlements.propose(
        contract=contract, reason="further", note="Paid beyond.", by=world.controller
    )
    assert further.refund == D(500)
    assert asked() == []


def test_a_settlement_set_aside_asks_for_each_invoice_again(world: World) -> None:
    settlement, invoice = left_due(world)
    settlements.approve(settlement=settlement, by=world.finance)
    assert asked() == [D(2140)]
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    assert asked() == [balance_of(invoice).open_amount] == [D(7140)]


def test_what_is_left_due_is_asked_for_once_where_two_invoices_are_open(world: World) -> None:
    settlement, invoice = left_due(world)
    settle(world, settlement)
    signed = issued_invoices().exclude(pk=invoice.pk).get()
    pay(world, signed, "1000", may_exceed=True)
    assert asked() == [D(1140)]


def test_reminders_ask_for_what_is_left_due_and_end_with_it(world: World, on_day: OnDay) -> None:
    settlement, invoice = left_due(world)
    settle(world, settlement)
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(8))
    [seen] = reminders.due()
    written = reminders.remind(invoice=seen)
    assert written is not None
    assert written.open_amount == D(2140)
    mail = Mail.objects.filter(key__startswith="reminder:").first()
    assert mail is not None
    body = " ".join(mail.body.split())
    assert "EUR 2,140.00" in body
    assert "EUR 5,000.00" in body
    pay(world, invoice, "2140")
    on_day(invoice.due_on + days(30))
    assert (reminders.due(), reminders.remind(invoice=seen)) == ([], None)


def test_the_portal_asks_for_what_is_left_due_and_says_why(client: Client, world: World) -> None:
    settlement, invoice = left_due(world)
    settle(world, settlement)
    page = portal(client, world, settlement, "portal-invoices")
    assert "<dt>Open</dt><dd>EUR 2,140.00</dd>" in page
    assert "EUR 5,000.00" in page
    assert "You owe</th>" in page
    assert "Too much" not in page
    assert "Overpaid" not in page
    first = portal(client, world, settlement, "portal-engagement")
    assert "EUR 2,140.00" in first
    pay(world, invoice, "2640", may_exceed=True)
    page = portal(client, world, settlement, "portal-invoices")
    assert "<dt>Open</dt>" not in page
    assert settings.BANK_ACCOUNT["iban"] not in page
    assert 'We owe you</th><td class="is-number">EUR 500.00' in page
    first = portal(client, world, settlement, "portal-engagement")


def test_finance_reads_what_is_left_due_and_what_is_counted(client: Client, world: World) -> None:
    settlement, invoice = left_due(world)
    settle(world, settlement)
    client.force_login(world.finance)
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode().replace("\xa0", " ")
    assert "<dt>Open</dt><dd><strong>EUR 2,140.00</strong>" in page
    assert "<dd>−EUR 5,000.00</dd>" in page
    page = client.get(reverse("payment-record", args=[invoice.pk])).content.decode()
    assert 'value="2140.00"' in page
    page = client.get(reverse("invoices")).content.decode().replace("\xa0", " ")
    assert "EUR 2,140.00" in page


def test_what_is_only_proposed_is_told_to_nobody_and_nobody_is_urged_to_pay(
    client: Client, world: World, on_day: OnDay
) -> None:
    settlement, invoice = left_due(world)
    assert asked() == []
    assert invoice_queries.totals_by_currency(issued_invoices()) == []
    page = portal(client, world, settlement, "portal-invoices")
    assert "On hold" in page
    first = portal(client, world, settlement, "portal-engagement")
    for text in (page, first):
        assert not re.search(
            r"\b2,140|Payment details|You owe|An invoice is open|00 to pay|<dt>Open",
            text,
        )
    client.force_login(world.finance)
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode().replace("\xa0", " ")
    assert "<dt>On hold</dt><dd><strong>EUR 7,140.00</strong>" in page
    assert "<dt>Open</dt>" not in page
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(8))
    assert (reminders.due(), reminders.remind(invoice=invoice)) == ([], None)
    assert not overdue_invoices(today=today())
    settlements.approve(settlement=settlement, by=world.finance)
    [seen] = reminders.due()
    written = reminders.remind(invoice=seen)
    assert written is not None
    assert written.open_amount == D(2140)
    assert [row.pk for row in overdue_invoices(today=today())] == [invoice.pk]


def test_money_that_comes_while_a_settlement_is_proposed_is_recorded_and_counted_anew(
    world: World,
) -> None:
    settlement, invoice = left_due(world)
    [proposal] = proposals(imported(world, statement(("7140.00", invoice.reference))).lines.all())
    assert proposal.match == Match.EXACT
    with declined("payment.exceeds_open_amount"):
        pay(world, invoice, "7140.01")
    pay(world, invoice, "2140")
    with pytest.raises(ApplicationError, match="propose it anew"):
        settlements.approve(settlement=settlement, by=world.finance)
    settlements.void(settlement=settlement, reason="It was paid.", by=world.finance)
    again = settlements.propose(
        contract=settlement.contract_version, reason="missed", by=world.controller
    )
    assert (again.refund, again.balance_due) == (D(0), D(0))
    settlements.approve(settlement=again, by=world.finance)
    assert asked() == []


def test_the_file_of_invoices_says_what_is_asked_for(client: Client, world: World) -> None:
    settlement, invoice = left_due(world)
    settle(world, settlement)
    client.force_login(world.finance)
    answer = client.get(reverse("invoices"), {"format": "csv"})
    rows = csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig")))
    assert {row["Number"]: row["Open"] for row in rows}[invoice.reference] == "2140.00"


def test_the_file_of_invoices_says_nothing_of_what_is_only_proposed(
    client: Client, world: World
) -> None:
    _, invoice = left_due(world)
    client.force_login(world.finance)
    answer = client.get(reverse("invoices"), {"format": "csv"})
    rows = csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig")))
    assert {row["Number"]: row["Open"] for row in rows}[invoice.reference] == "0.00"


@pytest.mark.django_db(transaction=True)
def test_what_is_paid_while_a_reminder_is_written_is_not_reminded_of_twice(
    transactional_db: None, on_day: OnDay
) -> None:
    world = World()
    settlement, invoice = left_due(world)
    settle(world, settlement)
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(8))
    [seen] = reminders.due()
    together(
        lambda: payments.record(
            invoice=invoice, amount=D(2140), received_on=today(), reference="R", by=world.finance
        ),
        lambda: reminders.remind(invoice=seen),
    )
    assert asked() == []
    assert not reminders.due()
