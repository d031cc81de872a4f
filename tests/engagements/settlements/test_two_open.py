"""Two invoices of one engagement open at once after a settlement: together they ask for what is
due, neither for what the other asks, and every page and mail says the same of each."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import credit_notes, invoices, payments, reminders
from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.milestones import milestone_lines
from engagements.billing.models import Invoice, Reminder
from engagements.billing.reconciliation import Match
from engagements.common.money import format_money
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.models import ContractVersion
from engagements.finance import invoice_queries
from engagements.notifications.models import Mail
from engagements.payouts import refunds
from engagements.settlements import customer_accounts
from engagements.settlements import services as settlements
from tests.engagements.billing.test_bank_imports import imported, only, statement
from tests.engagements.world import World, days, today
from tests.errors import declined

OnDay = Callable[[dt.date], None]
D = Decimal
references = (f"T-{number}" for number in count(1))
PARTS = (
    ("First part", D(12000), "signed"),
    ("Audit", D(3000), "audit_delivered"),
    ("Second part", D(7000), "signed"),
    ("Target", D(22000), "target_met"),
    ("Handover", D(4000), "handover"),
)


@dataclass
class Story:
    """Settled with two invoices open: 6,000 of the audit stand on both, half on each."""

    world: World
    contract: ContractVersion
    first: Invoice
    audit: Invoice
    second: Invoice

    def pay(self, invoice: Invoice, amount: str, *, may_exceed: bool = False) -> None:
        payments.record(
            invoice=invoice,
            amount=D(amount),
            received_on=today(),
            reference=next(references),
            by=self.world.finance,
            may_exceed=may_exceed,
        )

    def asked(self) -> dict[str, Decimal]:
        names = {self.first.pk: "first", self.audit.pk: "audit", self.second.pk: "second"}
        return {names[row.pk]: row.amount_due for row in open_invoices()}

    def page(self, client: Client, name: str, *args: Any) -> str:
        text = re.sub(r"<[^>]+>", " ", client.get(reverse(name, args=args)).content.decode())
        return " ".join(text.split())


def two_open(world: World, *, paid: str = "1000", **changes: Any) -> Story:
    """Of 3,570.00 kept on the first invoice `paid` came in and nothing for the audit's 3,570.00;
    2,000.00 came in for a part of which nothing is kept."""
    changes = {"milestones": [MilestoneDraft(*part) for part in PARTS]} | changes
    contract = world.active(**changes)
    first, audit, second = (world.invoice(contract.milestones.get(position=at)) for at in (1, 2, 3))
    story = Story(world, contract, first, audit, second)
    story.pay(first, paid)
    story.pay(second, "2000")
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    row = settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=row, reference="S-1", by=world.finance)
    return story


def agree(story: Story, due: str) -> None:
    """Whoever asks for money asks for the same, and for no more and no less than is due."""
    [account] = customer_accounts.accounts_of(type(story.contract.engagement).objects.all())
    assert account.balance == D(due)
    asked = story.asked()
    assert sum(asked.values()) == D(due)
    totals = invoice_queries.totals_by_currency(issued_invoices())
    assert sum((total.open for total in totals), D(0)) == D(due)
    lines = milestone_lines(story.contract.engagement)
    named = {line.invoice.pk: line.open_amount for line in lines if line.invoice}
    assert {key: amount for key, amount in named.items() if amount} == {
        row.pk: row.amount_due for row in open_invoices()
    }


def test_what_is_due_is_asked_for_once_by_the_two_together(world: World) -> None:
    story = two_open(world)
    assert story.asked() == {"first": D(2570), "audit": D(1570)}
    agree(story, "4140")


def test_what_is_paid_for_one_is_asked_for_by_neither(world: World) -> None:
    story = two_open(world)
    story.pay(story.audit, "1000")
    assert story.asked() == {"first": D(2570), "audit": D(570)}
    agree(story, "3140")
    story.pay(story.first, "2570")
    assert story.asked() == {"audit": D(570)}
    agree(story, "570")
    with declined("payment.exceeds_open_amount"):
        story.pay(story.audit, "570.01")
    with declined("payment.exceeds_open_amount"):
        story.pay(story.first, "1")
    story.pay(story.audit, "570")
    agree(story, "0")


@pytest.mark.parametrize("which", ["first", "audit", "second"])
def test_all_that_is_due_may_be_paid_for_any_of_them(world: World, which: str) -> None:
    story = two_open(world)
    story.pay(getattr(story, which), "4140", may_exceed=True)
    assert story.asked() == {}
    agree(story, "0")


@pytest.mark.parametrize("which", ["first", "audit"])
def test_a_credit_note_takes_as_much_off_what_is_asked_for(world: World, which: str) -> None:
    story = two_open(world)
    credit_notes.credit(
        invoice=getattr(story, which), reason="Goodwill.", net=D(1000), by=world.finance
    )
    agree(story, "2950")


def test_what_is_credited_in_full_leaves_the_rest_to_the_other(world: World) -> None:
    story = two_open(world)
    credit_notes.credit(invoice=story.audit, reason="Goodwill.", by=world.finance)
    assert story.asked() == {"first": D(570)}
    agree(story, "570")


def test_an_invoice_that_follows_takes_nothing_off_what_an_earlier_one_asks(
    world: World, on_day: OnDay
) -> None:
    contract = world.active(milestones=[MilestoneDraft(*part) for part in PARTS])
    first, audit, second = contract.milestones.filter(position__lte=3).order_by("position")
    drafted = invoices.draft(milestones=[audit], by=world.finance)
    story = Story(world, contract, world.invoice(first), drafted, world.invoice(second))
    story.pay(story.first, "1000")
    story.pay(story.second, "2000")
    on_day(today() + days(1))
    story.audit = invoices.issue(invoice=drafted, by=world.finance)
    world.conclude(world.request(contract), "missed")
    settlements.approve(settlement=contract.settlements.get(), by=world.finance)
    assert story.asked() == {"first": D(2570), "audit": D(1570)}


@pytest.mark.parametrize(
    ("currency", "paid", "first", "audit"),
    [
        ("EUR", "1000.01", "2569.99", "1570"),
        ("JPY", "1001", "2569", "1570"),
        ("KWD", "1000.125", "2569.875", "1570"),
    ],
)
def test_it_adds_up_in_each_currency(
    world: World, currency: str, paid: str, first: str, audit: str
) -> None:
    story = two_open(world, paid=paid, currency=currency)
    assert story.asked() == {"first": D(first), "audit": D(audit)}
    agree(story, str(D(first) + D(audit)))


def test_reminders_portal_and_finance_say_the_same_of_each(
    client: Client, world: World, on_day: OnDay
) -> None:
    story = two_open(world)
    reference = story.contract.engagement.reference
    assert story.first.due_on is not None
    on_day(story.first.due_on + days(8))
    for row in reminders.due():
        reminders.remind(invoice=row)
    written = {row.invoice_id: row.open_amount for row in Reminder.objects.all()}
    assert written == {story.first.pk: D(2570), story.audit.pk: D(1570)}
    mails = [" ".join(mail.body.split()) for mail in Mail.objects.filter(key__startswith="rem")]
    for amount in written.values():
        shown = format_money(amount, "EUR").replace("\xa0", " ")
        assert any(shown in body for body in mails)
        client.force_login(world.signatory)
        assert f"Open {shown}" in story.page(client, "portal-invoices", reference)
        assert shown in story.page(client, "portal-engagement", reference)
        client.force_login(world.finance)
        assert shown in story.page(client, "invoices")
    for invoice in (story.first, story.audit):
        shown = format_money(written[invoice.pk], "EUR").replace("\xa0", " ")
        assert f"Open {shown}" in story.page(client, "invoice", invoice.pk)
    assert re.search(r"You owe EUR 4,140\.00", _as(client, story, reference))


def _as(client: Client, story: Story, reference: str) -> str:
    client.force_login(story.world.signatory)
    return story.page(client, "portal-invoices", reference)


def test_only_what_is_overdue_is_reminded_of_and_with_what_it_asks(
    world: World, on_day: OnDay
) -> None:
    contract = world.active(milestones=[MilestoneDraft(*part) for part in PARTS])
    first, audit, second = contract.milestones.filter(position__lte=3).order_by("position")
    billed = world.invoice(first)
    on_day(today() + days(12))
    story = Story(world, contract, billed, world.invoice(audit), world.invoice(second))
    story.pay(story.first, "1000")
    story.pay(story.second, "2000")
    world.conclude(world.request(contract), "missed")
    settlements.approve(settlement=contract.settlements.get(), by=world.finance)
    assert story.first.due_on is not None
    on_day(story.first.due_on + days(8))
    [late] = reminders.due()
    written = reminders.remind(invoice=late)
    assert written is not None
    assert (written.invoice_id, written.open_amount) == (story.first.pk, D(2570))
    assert story.asked()["audit"] == D(1570)


def test_a_bank_line_for_both_is_put_to_each_as_far_as_it_asks(world: World) -> None:
    story = two_open(world)
    text = f"{story.audit.reference} {story.first.reference}"
    proposal = only(imported(world, statement(("4140.00", text))))
    assert proposal.match == Match.EXACT
    assert {row.pk: part for row, part in proposal.parts} == {
        story.first.pk: D(2570),
        story.audit.pk: D(1570),
    }


def test_a_bank_line_without_a_number_is_guessed_by_what_is_asked(world: World) -> None:
    story = two_open(world)
    proposal = only(imported(world, statement(("1570.00", "as agreed"))))
    assert proposal.match == Match.BY_AMOUNT
    assert [(row.pk, part) for row, part in proposal.parts] == [(story.audit.pk, D(1570))]
