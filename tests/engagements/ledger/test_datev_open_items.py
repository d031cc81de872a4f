"""A DATEV file of a real life: payments and credit notes clear the invoices that they are for."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import credit_notes
from engagements.payouts import bank_matching, overpayment_refunds, overpayments
from engagements.settlements import services as settlements
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.payouts.refund_steps import start_refund
from tests.engagements.world import World

PLACES = {"amount": 0, "side": 1, "account": 6, "contra": 7, "key": 8, "number": 10}


def exported(client: Client, world: World) -> list[list[str]]:
    """The bookings of this month in SKR03."""
    month = f"{timezone.localdate():%Y-%m}"
    client.force_login(world.finance)
    query = {
        **{"first": month, "last": month, "format": "datev", "currency": "EUR"},
        **{"adviser_number": "29098", "client_number": "55003", "chart": "03"},
    }
    answer = client.get(reverse("ledger-export"), query)
    content = answer.getvalue().decode("cp1252")
    return list(csv.reader(io.StringIO(content), delimiter=";"))[2:]


def open_items(world: World, rows: list[list[str]]) -> dict[str, Decimal]:
    """What a debtor owes by document number, as DATEV adds it up."""
    debtor = str(10_000 + world.customer.pk)
    items: dict[str, Decimal] = {}
    for row in rows:
        is_debit = row[PLACES["side"]] == "S"
        for account, sign in (("account", 1), ("contra", -1)):
            if row[PLACES[account]] == debtor:
                amount = Decimal(row[PLACES["amount"]].replace(",", "."))
                number = row[PLACES["number"]]
                items[number] = (
                    items.get(number, Decimal(0)) + (sign if is_debit else -sign) * amount
                )
    return items


def test_a_debtors_open_items_add_up_by_invoice_number(client: Client, world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    credit_notes.credit(invoice=invoice, net=Decimal(100), reason="Agreed.")
    world.paid_beyond(invoice, Decimal("14161.00"), "P-1")
    rows = exported(client, world)
    assert open_items(world, rows) == {invoice.reference: 0}
    keyed = [row for row in rows if row[PLACES["key"]]]
    assert {row[PLACES["key"]] for row in keyed} == {"3"}
    # The key belongs to the account in Gegenkonto, which is never the debtor.
    assert {row[PLACES["account"]] for row in keyed} == {str(10_000 + world.customer.pk)}


def test_an_overpayment_moved_within_an_engagement_clears_both_invoices(
    client: Client, world: World
) -> None:
    contract = world.active()
    first, second = (world.invoice(contract.milestones.get(position=n)) for n in (1, 2))
    world.paid_beyond(first, first.gross + second.gross, "P-1")
    overpayments.move(
        invoice=first, to=second, amount=second.gross, reference="M-1", by=world.finance
    )
    assert open_items(world, exported(client, world)) == {first.reference: 0, second.reference: 0}


def test_refunds_clear_the_credited_invoices_by_their_numbers(client: Client, world: World) -> None:
    settlement = world.settlement()
    void = settlements.approve(settlement=settlement, by=world.controller)
    settlements.void(settlement=void, reason="Wrong.", by=world.finance)
    again = settlements.propose(
        contract=settlement.contract_version, reason="missed", by=world.finance
    )
    settlements.approve(settlement=again, by=world.controller)
    over = world.overpaid(Decimal(20))
    refund = start_refund(world, over, Decimal(20))
    details = f"<Refs><EndToEndId>{overpayment_refunds.end_to_end_id(refund)}</EndToEndId></Refs>"
    today = timezone.localdate().isoformat()
    for amount in ("-20.00", "20.00"):
        row = imported(world, statement((amount, "x"), details=details, day=today))
        bank_matching.match_import(bank_import=row, by=world.finance)
    items = open_items(world, exported(client, world))
    # The audit that was kept is paid by the money that the other invoice had too much.
    assert items.pop(over.reference) == -20
    assert set(items) <= set(world.customer.invoices.values_list("reference", flat=True))
    assert sum(items.values()) == 0
