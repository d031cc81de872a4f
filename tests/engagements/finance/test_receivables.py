"""Aged receivables, VAT figures, statements of account, and the checklist of a month."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal

from django.test import Client
from django.urls import reverse
from pypdf import PdfReader

from engagements.billing import credit_notes, write_offs
from engagements.billing.balances import open_invoices
from engagements.finance import closing_checklist, receivables
from engagements.finance.receivables import VatRow
from engagements.ledger.models import Entry
from engagements.payouts import refunds
from engagements.settlements import customer_accounts
from engagements.settlements import services as settlements
from tests.engagements.accessibility import errors_of
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.pdf_text import words
from tests.engagements.world import World, contract_of, today

D = Decimal


def test_receivables_age_by_due_day_and_add_up(client: Client, world: World) -> None:
    contract = world.active()
    first, second = (world.invoice(contract.milestones.get(position=n)) for n in (1, 2))
    assert first.due_on is not None
    for late, bucket in ((0, 0), (1, 1), (30, 1), (31, 2), (61, 3), (91, 4)):
        [row] = receivables.aged(today=first.due_on + dt.timedelta(days=late))
        assert [at for at, amount in enumerate(row.amounts) if amount] == [bucket]
        assert row.total == sum(invoice.amount_due for invoice in open_invoices())
    assert row.total == first.gross + second.gross
    client.force_login(world.finance)
    assert "21,420.00" in client.get(reverse("receivables")).content.decode()
    assert b"21420.00" in client.get(reverse("receivables"), {"format": "csv"}).content


def test_vat_figures_are_the_documents_and_agree_with_the_ledger(
    client: Client, world: World
) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    credit_notes.credit(invoice=invoice, net=D(1000), reason="Agreed.")
    loss = write_offs.propose(
        invoice=invoice, kind="bad_debt", amount=D(119), reason="Insolvent.", by=world.finance
    )
    write_offs.approve(write_off=loss, by=world.controller)
    first = today().replace(day=1)
    rows = receivables.vat_figures(first, today())
    assert rows == [VatRow("EUR", "rate", D("19.00"), D(10900), D(2071))]
    [check] = receivables.vat_checks(rows, first, today())
    assert check.agrees
    client.force_login(world.finance)
    page = client.get(reverse("vat"), {"first": f"{first:%Y-%m}", "last": f"{first:%Y-%m}"})
    assert "2,071.00" in page.content.decode()


def test_a_statement_of_account_is_a_pdf(client: Client, world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    world.paid_beyond(invoice, D(4280), "P-1")
    url = reverse("customer-statement", args=[world.customer.pk])
    client.force_login(world.finance)
    content = client.get(url).content
    assert errors_of(content) == []
    text = words(PdfReader(io.BytesIO(content)))
    for part in (invoice.reference, "P-1", "10,000.00", "Longprompt AG"):
        assert part in text
    client.force_login(world.signatory)
    assert client.get(url).status_code == 404
    client.force_login(world.finance)
    nothing = reverse("customer-statement", args=[world.other_customer.pk])
    assert client.get(nothing).status_code == 404


def test_a_statement_of_account_is_dated_as_the_ledger(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    invoice = world.overpaid(D(20))
    loss = write_offs.propose(
        invoice=world.invoice(contract_of(invoice).milestones.get(position=2)),
        kind="bad_debt",
        amount=D(119),
        reason="Insolvent.",
        by=world.finance,
    )
    refund = world.settlement()
    settlements.approve(settlement=refund, by=world.controller)
    on_day(today() + dt.timedelta(days=3))
    write_offs.approve(write_off=loss, by=world.controller)
    on_day(today() + dt.timedelta(days=5))
    executed_on = today() - dt.timedelta(days=2)
    refunds.mark_paid(settlement=refund, reference="R", valued_on=executed_on, by=world.finance)
    [account] = customer_accounts.accounts_of(world.customer.engagements.all())
    dated = {row.what: row.on for row in account.postings}
    written_off = Entry.objects.get(kind=Entry.Kind.WRITTEN_OFF)
    assert dated["Bad debt"] == written_off.dated_on == today() - dt.timedelta(days=5)
    assert dated["Refund"] == executed_on


def test_the_checklist_of_a_month_names_what_is_open(client: Client, world: World) -> None:
    month = dt.date(2026, 1, 1)
    assert all(check.is_done for check in closing_checklist.checks(month))
    imported(world, statement(("5.00", "hello")))
    lines, suspense = (check for check in closing_checklist.checks(month) if not check.is_done)
    assert (lines.count, lines.url) == (1, reverse("bank"))
    assert suspense.url == reverse("ledger-account", args=["suspense", "EUR"])
    client.force_login(world.finance)
    page = client.get(reverse("ledger-close"), {"month": "2026-01"}).content.decode()
    assert reverse("bank") in page
    assert "first=2026-01" in page
