"""Refunds by file: first what it would hold, then the file; and where they go."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sepaxml
import xmlschema
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engagements.payouts import overpayment_refunds, refund_accounts, refunds
from engagements.payouts.models import Transfer, TransferFile
from engagements.people.models import BankAccount, User
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.signing_in import as_just_signed_in
from tests.engagements.world import World

IBAN = "DE02120300000000202051"
OTHER_IBAN = "DE89370400440532013000"
SCHEMA = Path(sepaxml.__file__).parent / "schemas" / "pain.001.001.09.xsd"


def approved(world: World) -> Settlement:
    return settlements.approve(settlement=world.settlement(), by=world.controller)


def account(world: World) -> BankAccount:
    return refund_accounts.add(
        customer=world.customer, holder="Längprompt AG", iban=IBAN, bic="", by=world.finance
    )


def accounts() -> list[int]:
    """The bank accounts that the page shows now."""
    return list(BankAccount.objects.values_list("pk", flat=True))


def with_a_password(client: Client, person: User) -> None:
    """Signed in, with something that can be asked for again."""
    person.set_password("a long enough sentence of words")
    person.save()
    client.force_login(person)


def make(client: Client, world: World, *rows: Settlement, message: str = "MSG-1") -> int:
    client.force_login(world.finance)
    data = {"settlement": [row.pk for row in rows], "message": message, "account": accounts()}
    return client.post(reverse("transfers"), data).status_code


def test_the_file_is_shown_before_it_is_made(client: Client, world: World) -> None:
    row = approved(world)
    account(world)
    client.force_login(world.finance)
    page = client.get(reverse("transfers")).content.decode()
    assert IBAN in page
    assert "EUR\xa014,280.00" in page
    assert not TransferFile.objects.exists()
    assert Settlement.objects.get(pk=row.pk).state == "approved"


def test_every_chosen_settlement_goes_out_in_one_file(client: Client, world: World) -> None:
    rows = [approved(world), approved(world)]
    account(world)
    for _ in range(2):
        assert make(client, world, *rows) == 302
    file = TransferFile.objects.get()
    assert file.total == Decimal(28560)
    assert {transfer.settlement_id for transfer in file.transfers.all()} == {r.pk for r in rows}
    assert set(Settlement.objects.values_list("state", flat=True)) == {"paying"}


def test_the_file_holds_to_its_schema_and_names_the_payee(client: Client, world: World) -> None:
    row = approved(world)
    account(world)
    make(client, world, row)
    file = TransferFile.objects.get()
    url = reverse("transfer-file", args=[file.pk])
    content = client.get(url, {"format": "xml"}).content
    assert content == bytes(file.content)
    xmlschema.XMLSchema(SCHEMA).validate(io.BytesIO(content))
    for part in (IBAN, "Langprompt AG", "14280.00", f"-S{row.pk}-1", "MSG-1"):
        assert part.encode() in content, part
    assert IBAN in client.get(url).content.decode()


def test_overpayments_that_another_proposed_go_out_with_the_refunds(
    client: Client, world: World
) -> None:
    account(world)
    settlement, invoice = approved(world), world.overpaid(Decimal(20))
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(20), by=world.controller)
    mine = overpayment_refunds.propose(
        invoice=world.overpaid(Decimal(30)), amount=Decimal(30), by=world.finance
    )
    as_just_signed_in(client, world.finance)
    page = client.get(reverse("transfers"), {"overpaid": row.pk}).content.decode()
    assert f"overpayment of {invoice.reference}" in page
    assert "You proposed it, so somebody else sends it." in page
    assert page.count(" checked") == 1
    chosen: dict[str, Any] = {"settlement": settlement.pk, "overpaid": row.pk}
    chosen |= {"message": "MSG-1", "account": accounts()}
    assert client.post(reverse("transfers"), chosen | {"overpaid": mine.pk}).status_code == 422
    with_a_password(client, world.finance)
    asked = client.post(reverse("transfers"), chosen)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert not TransferFile.objects.exists()
    as_just_signed_in(client, world.finance)
    assert client.post(reverse("transfers"), chosen).status_code == 302
    file = TransferFile.objects.get()
    assert file.total == Decimal(14300)
    xmlschema.XMLSchema(SCHEMA).validate(io.BytesIO(bytes(file.content)))
    shown = client.get(reverse("transfer-file", args=[file.pk])).content.decode()
    assert f"Overpayment of {invoice.reference}" in shown
    assert (
        reverse("transfer-file", args=[file.pk])
        in client.get(reverse("transfers")).content.decode()
    )


def test_one_that_cannot_go_out_stops_the_whole_file(client: Client, world: World) -> None:
    good, held = approved(world), approved(world)
    account(world)
    refunds.start_payment(settlement=held, by=world.finance)
    assert make(client, world, good, held) == 422
    assert not TransferFile.objects.exists()
    assert Settlement.objects.get(pk=good.pk).state == "approved"


def test_an_old_page_sends_no_money_to_an_account_that_it_did_not_show(
    client: Client, world: World
) -> None:
    row, old = approved(world), account(world)
    client.force_login(world.finance)
    page = client.get(reverse("transfers")).content.decode()
    assert f'name="account" value="{old.pk}"' in page
    new = refund_accounts.add(
        customer=world.customer, holder="Attila", iban=OTHER_IBAN, bic="", by=world.controller
    )
    asked = {"settlement": row.pk, "message": "MSG-1", "account": old.pk}
    refused = client.post(reverse("transfers"), asked)
    assert refused.status_code == 422
    assert f"entered since you looked, Attila, {OTHER_IBAN}" in refused.content.decode()
    assert not TransferFile.objects.exists()
    assert client.post(reverse("transfers"), asked | {"account": new.pk}).status_code == 302


def test_without_a_bank_account_there_is_no_file(client: Client, world: World) -> None:
    assert make(client, world, approved(world)) == 422
    page = client.get(reverse("transfers")).content.decode()
    assert "bank account is not known yet" in page


def test_a_yen_goes_by_hand(client: Client, world: World) -> None:
    contract = world.missed(currency="JPY")
    row = settlements.approve(settlement=contract.settlements.get(), by=world.controller)
    account(world)
    assert make(client, world, row) == 422


def test_what_is_on_hold_is_not_sent(client: Client, world: World) -> None:
    row = approved(world)
    account(world)
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    assert make(client, world, row) == 422


def test_a_failed_transfer_goes_out_again_under_another_name(client: Client, world: World) -> None:
    row = approved(world)
    account(world)
    make(client, world, row)
    refunds.mark_failed(settlement=row, reason="Account closed", by=world.finance)
    assert make(client, world, row, message="MSG-2") == 302
    names = Transfer.objects.order_by("attempt").values_list("end_to_end_id", "outcome")
    assert [outcome for _, outcome in names] == ["failed", ""]
    assert len({name for name, _ in names}) == 2


@pytest.mark.parametrize(
    "iban", ["DE02120300000000202052", "DE0212030000000020205", "XX02120300000000202051", "hello"]
)
def test_what_is_no_iban_is_refused(client: Client, world: World, iban: str) -> None:
    as_just_signed_in(client, world.finance)
    url = reverse("bank-account", args=[world.customer.pk])
    assert client.post(url, {"holder": "Longprompt AG", "iban": iban}).status_code == 422
    assert not BankAccount.objects.exists()


def test_where_money_goes_is_changed_after_the_password(client: Client, world: World) -> None:
    url = reverse("bank-account", args=[world.customer.pk])
    data = {"holder": "Longprompt AG", "iban": "de02 1203 0000 0000 2020 51"}
    with_a_password(client, world.finance)
    asked = client.post(url, data)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert not BankAccount.objects.exists()
    as_just_signed_in(client, world.finance)
    for _ in range(2):
        assert client.post(url, data).status_code == 302
    assert BankAccount.objects.get().iban == IBAN
    assert IBAN in client.get(url).content.decode()


def test_approving_asks_for_the_password_again(client: Client, world: World) -> None:
    row = world.settlement()
    url = reverse("settlement-approve", args=[row.pk])
    with_a_password(client, world.controller)
    assert client.post(url)["Location"].startswith(reverse("account_reauthenticate"))
    assert Settlement.objects.get(pk=row.pk).state == "proposed"


def test_queues_say_what_waits_and_come_as_csv(client: Client, world: World) -> None:
    proposed, paying = world.settlement(), approved(world)
    refunds.start_payment(settlement=paying, by=world.finance)
    held = world.settlement()
    disputes.raise_dispute(settlement=held, reason="Too little.", by=world.signatory)
    client.force_login(world.finance)
    for queue, row in (("to-approve", proposed), ("with-the-bank", paying), ("on-hold", held)):
        page = client.get(reverse("settlements"), {"queue": queue}).content.decode()
        shown = {
            other.pk for other in (proposed, paying, held) if f"settlements/{other.pk}/" in page
        }
        assert shown == {row.pk}, queue
    reference = held.contract_version.engagement.reference
    found = client.get(reverse("settlements"), {"q": reference, "format": "csv"}).content
    assert found.decode().count("\n") == 2
    assert client.get(reverse("settlements"), {"queue": "lost"}).status_code == 404


def test_a_queue_of_any_length_is_read_by_as_many_queries(client: Client, world: World) -> None:
    client.force_login(world.finance)
    world.settlement()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(reverse("settlements"))
        counts.append(len(queries))
        world.settlement()
    assert counts[0] == counts[1]


def test_what_follows_is_shown_before_it_is_proposed_and_before_it_is_approved(
    client: Client, world: World
) -> None:
    row = world.settlement()
    as_just_signed_in(client, world.controller)
    page = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert "What follows from it" in page
    assert "Credit note off" in page
    assert "Refund paid" in page
    settlements.void(settlement=row, reason="Once more", by=world.finance)
    reference = row.contract_version.engagement.reference
    url = reverse("settlement-propose", args=[reference])
    assert "What follows from it" in client.get(url).content.decode()


def test_a_further_settlement_is_shown_first_and_then_proposed(
    client: Client, world: World
) -> None:
    row = approved(world)
    refunds.mark_paid(settlement=row, reference="REFUND-1", by=world.finance)
    url = reverse("settlement-propose", args=[row.contract_version.engagement.reference])
    client.force_login(world.finance)
    data = {"reason": "further", "keeps": "nothing", "note": "Goodwill."}
    shown = client.post(url, data | {"preview": "1"})
    assert "EUR\xa07,140.00" in shown.content.decode()
    assert Settlement.objects.count() == 1
    assert client.post(url, data).status_code == 302
    assert Settlement.objects.get(reason="further").refund == Decimal(7140)


def test_a_page_that_shows_a_failed_attempt_does_not_fail_the_next(
    client: Client, world: World
) -> None:
    row = approved(world)
    refunds.start_payment(settlement=row, by=world.finance)
    client.force_login(world.finance)
    shown = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert 'name="attempt" value="1"' in shown
    refunds.mark_failed(settlement=row, reason="IBAN typo", by=world.controller)
    refunds.start_payment(settlement=row, by=world.controller)
    failed = reverse("settlement-failed", args=[row.pk])
    refused = client.post(failed, {"reason": "IBAN", "attempt": "1"})
    assert refused.status_code == 422
    assert "transferred anew since you looked" in refused.content.decode()
    assert Settlement.objects.get(pk=row.pk).state == "paying"
    assert client.post(failed, {"reason": "IBAN", "attempt": "2"}).status_code == 302
