"""What finance reads of invoices takes as many queries for many as for one."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from engagements.billing import bank_imports, credit_notes, invoices, payments, reminders
from engagements.billing import queries as billing
from engagements.billing.balances import issued_invoices, overdue_invoices
from engagements.billing.bank_models import BankLine
from engagements.billing.line_proposals import proposals
from engagements.engagement.models import Engagement
from engagements.finance import invoice_queries
from engagements.settlements import customer_accounts
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.world import World, days, today

NOTES = invoice_queries.InvoiceStatus.CREDIT_NOTES


def queries(read: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        read()
    return len(captured)


def one_of_each(world: World, number: int) -> None:
    """A milestone to bill, a draft, an invoice paid in part and credited in part, bank lines."""
    contract = world.active()
    world.active()
    signed, audit = contract.milestones.filter(position__lte=2).order_by("position")
    invoice = world.invoice(signed)
    payments.record(
        invoice=invoice, amount=Decimal(100), received_on=today(), reference="P", by=world.finance
    )
    credit_notes.credit(invoice=invoice, net=Decimal(100), reason="Late.")
    invoices.draft(milestones=[audit], by=world.finance)
    entries = statement((f"{number}.00", invoice.reference), ("7.00", f"unknown {number}"))
    bank_imports.import_file(filename="bank.xml", content=entries, by=world.finance)


def _to_bill() -> list[billing.ToBill]:
    return billing.to_bill(billing.engagements_to_bill())


def test_twice_the_invoices_cost_no_more_queries(world: World) -> None:
    later = today() + days(90)
    reads: list[Callable[[], Any]] = [
        lambda: [line.gross for group in _to_bill() for line in group.lines],
        lambda: [(row.title, invoices.preview(invoice=row)) for row in billing.drafts()],
        lambda: [
            row.customer.name for row in invoice_queries.found_invoices(today=later, text="INV")
        ],
        lambda: [
            str(row.corrects) for row in invoice_queries.found_invoices(today=later, status=NOTES)
        ],
        lambda: [row.customer.name for row in overdue_invoices(today=later)],
        lambda: invoice_queries.totals_by_currency(issued_invoices()),
        lambda: customer_accounts.accounts_of(Engagement.objects.all()),
        lambda: [proposal.match for proposal in proposals(BankLine.objects.all())],
        reminders.due,
    ]
    one_of_each(world, 1)
    once = [queries(read) for read in reads]
    one_of_each(world, 2)
    one_of_each(world, 3)
    assert [queries(read) for read in reads] == once


def test_open_and_overpaid_invoices_are_never_netted(world: World) -> None:
    world.overpaid(Decimal(720))
    world.invoice(world.active().milestones.get(position=1))
    dollars = world.invoice(world.active(currency="USD").milestones.get(position=1))
    euros, others = invoice_queries.totals_by_currency(issued_invoices())
    assert (euros.currency, euros.open, euros.overpaid) == ("EUR", Decimal(14280), Decimal(720))
    assert (others.currency, others.open, others.overpaid) == ("USD", Decimal(14280), 0)
    found = invoice_queries.found_invoices(today=today(), text=dollars.reference)
    assert invoice_queries.totals_by_currency(found) == [others]


def test_what_a_settlement_counts_is_neither_open_nor_overpaid(world: World) -> None:
    contract = world.active()
    signed, audit = (contract.milestones.get(position=at) for at in (1, 2))
    world.pay(signed)
    world.invoice(audit)
    world.conclude(world.request(contract), "missed")
    assert {row.open_amount > 0 for row in issued_invoices()} == {True, False}
    assert invoice_queries.totals_by_currency(issued_invoices()) == []
