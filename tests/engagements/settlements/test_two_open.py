"""Two open invoices after a settlement share the balance due, on every page and mail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import credit_notes, invoices, reminders
from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.line_proposals import Match
from engagements.billing.milestones import milestone_lines
from engagements.billing.models import Invoice
from engagements.billing.reminder_models import Reminder
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.models import ContractVersion
from engagements.finance import invoice_queries
from engagements.notifications.models import Mail
from engagements.settlements import customer_accounts
from engagements.settlements import services as settlements
from tests.engagements.billing.test_bank_imports import imported, only, statement
from tests.engagements.world import World, days, received, today, undone

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
    """The invoices of a contract; half of the audit cost of 6,000 is kept on each of two."""

    world: World
    contract: ContractVersion
    first: Invoice
    audit: Invoice
    second: Invoice

    def pay(self, invoice: Invoice, amount: str, *, may_exceed: bool = False) -> None:
        received(
            invoice=invoice,
            amount=D(amount),
            received_on=today(),
            reference=next(references),
            by=self.world.finance,
            confirmed_by=self.world.controller,
            may_exceed=may_exceed,
        )

    def settle(self, *, paid: str = "1000") -> None:
        """Settle with `paid` on the first invoice and 2,000 on one of which nothing is kept."""
        self.pay(self.first, paid)
        self.pay(self.second, "2000")
        self.world.conclude(self.world.request(self.contract), "missed")
        settlement = self.contract.settlements.get()
        settlements.approve(settlement=settlement, by=self.world.finance)

    def due(self) -> dict[str, Decimal]:
        names = {self.first.pk: "first", self.audit.pk: "audit", self.second.pk: "second"}
        return {names[row.pk]: row.amount_due for row in open_invoices()}


def billed(world: World, **changes: Any) -> Story:
    contract = world.active(milestones=[MilestoneDraft(*part) for part in PARTS], **changes)
    parts = (world.invoice(contract.milestones.get(position=at)) for at in (1, 2, 3))
    return Story(world, contract, *parts)


def check_total(story: Story, due: str) -> None:
    """Account, invoices, totals and milestones all show the same amount due."""
    [account] = customer_accounts.accounts_of(type(story.contract.engagement).objects.all())
    assert account.balance == D(due)
    assert sum(story.due().values()) == D(due)
    totals = invoice_queries.totals_by_currency(issued_invoices())
    assert sum((total.open for total in totals), D(0)) == D(due)
    lines = milestone_lines(story.contract.engagement)
    named = {line.invoice.pk: line.open_amount for line in lines if line.invoice}
    assert {key: amount for key, amount in named.items() if amount} == {
        row.pk: row.amount_due for row in open_invoices()
    }


def test_two_invoices_share_the_balance_due_whatever_is_paid_or_credited(world: World) -> None:
    story = billed(world)
    story.settle()
    assert story.due() == {"first": D(2570), "audit": D(1570)}
    check_total(story, "4140")
    with undone():
        story.pay(story.audit, "1000")
        assert story.due() == {"first": D(2570), "audit": D(570)}
        check_total(story, "3140")
        story.pay(story.first, "2570")
        assert story.due() == {"audit": D(570)}
        for invoice, amount in ((story.audit, "570.01"), (story.first, "1")):
            with pytest.raises(ApplicationError):
                story.pay(invoice, amount)
        story.pay(story.audit, "570")
        check_total(story, "0")
    for invoice in (story.first, story.audit, story.second):
        with undone():
            story.pay(invoice, "4140", may_exceed=True)
            assert story.due() == {}
            check_total(story, "0")
    for invoice in (story.first, story.audit):
        with undone():
            credit_notes.credit(invoice=invoice, reason="Goodwill.", net=D(1000))
            check_total(story, "2950")
    with undone():
        credit_notes.credit(invoice=story.audit, reason="Goodwill.")
        assert story.due() == {"first": D(570)}
        check_total(story, "570")


def test_an_invoice_issued_later_reduces_no_earlier_one(world: World, on_day: OnDay) -> None:
    contract = world.active(milestones=[MilestoneDraft(*part) for part in PARTS])
    first, audit, second = contract.milestones.filter(position__lte=3).order_by("position")
    drafted = invoices.draft(milestones=[audit], by=world.finance)
    story = Story(world, contract, world.invoice(first), drafted, world.invoice(second))
    on_day(today() + days(1))
    story.audit = invoices.issue(invoice=drafted, by=world.finance)
    story.settle()
    assert story.due() == {"first": D(2570), "audit": D(1570)}


@pytest.mark.parametrize(
    ("currency", "paid", "first"), [("JPY", "1001", "2569"), ("KWD", "1000.125", "2569.875")]
)
def test_the_amounts_add_up_in_each_currency(
    world: World, currency: str, paid: str, first: str
) -> None:
    story = billed(world, currency=currency)
    story.settle(paid=paid)
    assert story.due() == {"first": D(first), "audit": D(1570)}
    check_total(story, str(D(first) + D(1570)))


def test_reminders_portal_finance_and_bank_lines_use_the_same_amounts(
    client: Client, world: World, on_day: OnDay
) -> None:
    story = billed(world)
    story.settle()
    reference = story.contract.engagement.reference
    due = {story.first.pk: D(2570), story.audit.pk: D(1570)}
    with undone():
        text = f"{story.audit.reference} {story.first.reference}"
        proposal = only(imported(world, statement(("4140.00", text))))
        assert proposal.match == Match.EXACT
        assert {row.pk: part for row, part in proposal.parts} == due
    with undone():
        proposal = only(imported(world, statement(("1570.00", "as agreed"))))
        assert proposal.match == Match.BY_AMOUNT
        assert [(row.pk, part) for row, part in proposal.parts] == [(story.audit.pk, D(1570))]
    assert story.first.due_on is not None
    on_day(story.first.due_on + days(8))
    for row in reminders.due():
        reminders.remind(invoice=row)
    assert {row.invoice_id: row.open_amount for row in Reminder.objects.all()} == due
    mails = [mail.body for mail in Mail.objects.filter(key__startswith="rem")]
    client.force_login(world.signatory)
    portal = [
        client.get(reverse(name, args=[reference])).content.decode()
        for name in ("portal-invoices", "portal-engagement")
    ]
    client.force_login(world.finance)
    for key, amount in due.items():
        shown = format_money(amount, "EUR")
        assert any(shown.replace("\xa0", " ") in body.replace("\xa0", " ") for body in mails)
        listed = client.get(reverse("invoices")).content.decode()
        single = client.get(reverse("invoice", args=[key])).content.decode()
        for page in (*portal, listed, single):
            assert shown in page
    assert format_money(D(4140), "EUR") in portal[0]


def test_only_overdue_invoices_are_reminded_of(world: World, on_day: OnDay) -> None:
    contract = world.active(milestones=[MilestoneDraft(*part) for part in PARTS])
    first, audit, second = contract.milestones.filter(position__lte=3).order_by("position")
    earlier = world.invoice(first)
    on_day(today() + days(12))
    story = Story(world, contract, earlier, world.invoice(audit), world.invoice(second))
    story.settle()
    assert earlier.due_on is not None
    on_day(earlier.due_on + days(8))
    [late] = reminders.due()
    written = reminders.remind(invoice=late)
    assert written is not None
    assert (written.invoice_id, written.open_amount) == (earlier.pk, D(2570))
    assert story.due()["audit"] == D(1570)
