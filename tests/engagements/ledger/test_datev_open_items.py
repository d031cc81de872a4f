"""A DATEV file of a real life: payments and credit notes clear the invoices that they are for."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import credit_notes
from tests.engagements.world import World

PLACES = {"amount": 0, "debit": 6, "credit": 7, "key": 8, "number": 10, "second": 11}


def test_a_debtors_open_items_add_up_by_invoice_number(client: Client, world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    credit_notes.credit(invoice=invoice, net=Decimal(100), reason="Agreed.", by=world.finance)
    world.paid_beyond(invoice, Decimal("14161.00"), "P-1")
    month = f"{timezone.localdate():%Y-%m}"
    client.force_login(world.finance)
    query = {
        **{"first": month, "last": month, "format": "datev", "currency": "EUR"},
        **{"adviser_number": "29098", "client_number": "55003", "chart": "03"},
    }
    answer = client.get(reverse("ledger-export"), query)
    content = answer.getvalue().decode("cp1252")
    rows = list(csv.reader(io.StringIO(content), delimiter=";"))[2:]
    debtor = str(10_000 + world.customer.pk)
    open_items: dict[str, Decimal] = {}
    for row in rows:
        for side, sign in (("debit", 1), ("credit", -1)):
            if row[PLACES[side]] == debtor:
                amount = Decimal(row[PLACES["amount"]].replace(",", "."))
                number = row[PLACES["number"]]
                open_items[number] = open_items.get(number, Decimal(0)) + sign * amount
    assert open_items == {invoice.reference: 0}
    assert {row[PLACES["key"]] for row in rows if row[PLACES["number"]]} == {"", "3"}
    assert "0990" in {row[PLACES["credit"]] for row in rows}
