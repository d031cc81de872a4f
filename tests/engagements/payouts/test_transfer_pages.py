"""Pages of SEPA files and of the bank accounts that refunds are paid to."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sepaxml
from django.test import Client
from django.urls import reverse
from lxml import etree

from engagements.payouts import overpayment_refunds, refund_accounts, refunds
from engagements.payouts.models import Transfer, TransferFile
from engagements.people.bank_accounts import BankAccount
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.sessions import sign_in, sign_in_by_password
from tests.engagements.world import World, undone

IBAN = "DE02120300000000202051"
OTHER_IBAN = "DE89370400440532013000"
SCHEMA = Path(sepaxml.__file__).parent / "schemas" / "pain.001.001.09.xsd"


def approved(world: World) -> Settlement:
    return settlements.approve(settlement=world.settlement(), by=world.controller)


def account(world: World) -> BankAccount:
    return refund_accounts.add(
        customer=world.customer, holder="Längprompt AG", iban=IBAN, bic="", by=world.signatory
    )


def accounts() -> list[int]:
    """The bank accounts that the page shows now."""
    return list(BankAccount.objects.values_list("pk", flat=True))


def make(client: Client, world: World, *rows: Settlement, message: str = "MSG-1") -> int:
    client.force_login(world.finance)
    data = {"settlement": [row.pk for row in rows], "message": message, "account": accounts()}
    return client.post(reverse("transfers"), data).status_code


def page(client: Client) -> str:
    return client.get(reverse("transfers")).content.decode()


def test_chosen_refunds_are_shown_and_then_sent_in_one_valid_file(
    client: Client, world: World
) -> None:
    rows = [approved(world), approved(world)]
    account(world)
    client.force_login(world.finance)
    shown = page(client)
    assert IBAN in shown
    assert "EUR\xa028,560.00" in shown
    assert not TransferFile.objects.exists()
    for _ in range(2):
        assert make(client, world, *rows) == 302
    file = TransferFile.objects.get()
    assert file.total == Decimal(28560)
    assert {transfer.settlement_id for transfer in file.transfers.all()} == {r.pk for r in rows}
    assert set(Settlement.objects.values_list("state", flat=True)) == {"paying"}
    url = reverse("transfer-file", args=[file.pk])
    content = client.get(url, {"format": "xml"}).content
    assert content == bytes(file.content)
    etree.XMLSchema(file=SCHEMA).assertValid(etree.parse(io.BytesIO(content)))
    for part in (IBAN, "Langprompt AG", "14280.00", f"-S{rows[0].pk}-1", "MSG-1"):
        assert part.encode() in content, part
    assert IBAN in client.get(url).content.decode()


def test_overpayments_proposed_by_another_are_sent_with_refunds(
    client: Client, world: World
) -> None:
    account(world)
    settlement, invoice = approved(world), world.overpaid(Decimal(20))
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(20), by=world.controller)
    mine = overpayment_refunds.propose(
        invoice=world.overpaid(Decimal(30)), amount=Decimal(30), by=world.finance
    )
    sign_in(client, world.finance)
    shown = client.get(reverse("transfers"), {"overpaid": row.pk}).content.decode()
    assert f'id="overpaid-{row.pk}"' in shown
    assert f'id="overpaid-{mine.pk}"' not in shown
    assert shown.count(" checked") == 1
    chosen: dict[str, Any] = {"settlement": settlement.pk, "overpaid": row.pk}
    chosen |= {"message": "MSG-1", "account": accounts()}
    answer = client.post(reverse("transfers"), chosen | {"overpaid": mine.pk})
    assert answer.status_code == 422
    assert 'data-error="transfer_file.not_transferable"' in answer.content.decode()
    sign_in_by_password(client, world.finance)
    asked = client.post(reverse("transfers"), chosen)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert not TransferFile.objects.exists()
    sign_in(client, world.finance)
    assert client.post(reverse("transfers"), chosen).status_code == 302
    file = TransferFile.objects.get()
    assert file.total == Decimal(14300)
    url = reverse("transfer-file", args=[file.pk])
    assert reverse("overpayment", args=[invoice.pk]) in client.get(url).content.decode()
    assert url in page(client)


def test_one_blocked_refund_stops_the_whole_file(client: Client, world: World) -> None:
    good, other = approved(world), approved(world)
    assert make(client, world, good) == 422
    customer = good.contract_version.engagement.customer_id
    assert reverse("bank-account", args=[customer]) in page(client)
    account(world)
    with undone():
        refunds.start_payment(settlement=other, by=world.finance)
        assert make(client, world, good, other) == 422
    with undone():
        disputes.raise_dispute(settlement=other, reason="Too little.", by=world.signatory)
        assert make(client, world, good, other) == 422
    contract = world.missed(currency="JPY")
    yen = settlements.approve(settlement=contract.settlements.get(), by=world.controller)
    assert make(client, world, good, yen) == 422
    assert not TransferFile.objects.exists()
    assert Settlement.objects.get(pk=good.pk).state == "approved"


def test_no_money_is_sent_to_an_account_that_the_page_did_not_show(
    client: Client, world: World
) -> None:
    row, old = approved(world), account(world)
    client.force_login(world.finance)
    assert f'name="account" value="{old.pk}"' in page(client)
    new = refund_accounts.add(
        customer=world.customer, holder="Attila", iban=OTHER_IBAN, bic="", by=world.signatory
    )
    sent = {"settlement": row.pk, "message": "MSG-1", "account": old.pk}
    answer = client.post(reverse("transfers"), sent)
    assert answer.status_code == 422
    assert 'data-error="transfer_file.account_changed"' in answer.content.decode()
    assert not TransferFile.objects.exists()
    assert client.post(reverse("transfers"), sent | {"account": new.pk}).status_code == 302


def test_a_failed_transfer_is_sent_again_under_another_reference(
    client: Client, world: World
) -> None:
    row = approved(world)
    account(world)
    make(client, world, row)
    refunds.mark_failed(settlement=row, reason="Account closed", by=world.controller)
    assert make(client, world, row, message="MSG-2") == 302
    names = Transfer.objects.order_by("attempt").values_list("end_to_end_id", "outcome")
    assert [outcome for _, outcome in names] == ["failed", ""]
    assert len({name for name, _ in names}) == 2


@pytest.mark.parametrize(
    "iban", ["DE02120300000000202052", "DE0212030000000020205", "XX02120300000000202051", "hello"]
)
def test_an_invalid_iban_is_declined(client: Client, world: World, iban: str) -> None:
    sign_in(client, world.finance)
    url = reverse("bank-account", args=[world.customer.pk])
    assert client.post(url, {"holder": "Longprompt AG", "iban": iban}).status_code == 422
    assert not BankAccount.objects.exists()


def test_a_new_account_needs_a_fresh_sign_in(client: Client, world: World) -> None:
    url = reverse("bank-account", args=[world.customer.pk])
    data = {"holder": "Longprompt AG", "iban": "de02 1203 0000 0000 2020 51"}
    sign_in_by_password(client, world.finance)
    answer = client.post(url, data)
    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert not BankAccount.objects.exists()
    sign_in(client, world.finance)
    for _ in range(2):
        assert client.post(url, data).status_code == 302
    assert BankAccount.objects.get().iban == IBAN
    assert IBAN in client.get(url).content.decode()
