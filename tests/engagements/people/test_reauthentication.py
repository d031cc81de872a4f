"""Signing and moving money require the password again and then continue."""

from __future__ import annotations

import re
import time

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts.models import ContractVersion, Party
from engagements.payouts import refund_accounts
from engagements.people.models import User
from engagements.settlements import services as settlements
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough sentence of words"


@pytest.fixture
def contract(world: World) -> ContractVersion:
    return world.offered()


def sign_in(client: Client, person: User) -> None:
    """Sign in with a password through the page."""
    person.set_password(PASSWORD)
    person.save()
    answer = client.post(reverse("account_login"), {"login": person.email, "password": PASSWORD})
    assert answer.status_code == 302


def acceptance(contract: ContractVersion, party: Party) -> tuple[str, dict[str, str]]:
    """Return the URL and data that accept a contract."""
    reference = contract.engagement.reference
    data = {"typed_name": "Connie", "digest": contract.digest, "agreed": "on"}
    if party == Party.CUSTOMER:
        data["typed_name"] = "Sigrid"
    if party == Party.CUSTOMER:
        return reverse("portal-contract-accept", args=[reference, contract.number]), data
    return reverse("contract-accept", args=[reference]), data


@pytest.mark.parametrize("party", list(Party))
def test_acceptance_continues_after_the_password(
    client: Client, world: World, contract: ContractVersion, party: Party
) -> None:
    person = world.signatory if party == Party.CUSTOMER else world.consultant
    sign_in(client, person)
    url, data = acceptance(contract, party)
    asked = client.post(url, data)
    assert asked.status_code == 302
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert not contract.acceptances.exists()
    before = time.time()
    done = client.post(asked["Location"], {"password": PASSWORD})
    assert done.status_code == 302
    (accepted,) = contract.acceptances.all()
    assert (accepted.party, accepted.typed_name) == (party, person.name)
    assert accepted.digest == contract.digest
    assert accepted.address == "127.0.0.1"
    assert accepted.signed_in_at is not None
    assert accepted.signed_in_at.timestamp() >= before - 1


def test_a_wrong_password_accepts_nothing(
    client: Client, world: World, contract: ContractVersion
) -> None:
    sign_in(client, world.signatory)
    url, data = acceptance(contract, Party.CUSTOMER)
    asked = client.post(url, data)
    assert client.post(asked["Location"], {"password": "wrong"}).status_code == 200
    assert not contract.acceptances.exists()


def test_the_handover_requires_the_password(client: Client, world: World) -> None:
    contract = world.met()
    url = reverse("portal-handover", args=[contract.engagement.reference])
    milestone = contract.milestones.get(condition="handover")
    for person, status in ((world.stranger, 404), (world.viewer, 403)):
        other = Client()
        sign_in(other, person)
        assert other.post(url, {"agreed": "on"}).status_code == status
    sign_in(client, world.signatory)
    assert client.get(url).status_code == 200
    asked = client.post(url, {"agreed": "on"})
    assert asked.status_code == 302
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert client.post(asked["Location"], {"password": "wrong"}).status_code == 200
    milestone.refresh_from_db()
    assert milestone.state == "pending"
    assert client.post(asked["Location"], {"password": PASSWORD}).status_code == 302
    milestone.refresh_from_db()
    assert milestone.state == "released"
    accepted = contract.engagement.events.get(verb="handover.accepted")
    assert (accepted.actor, accepted.address) == (world.signatory, "127.0.0.1")


def test_a_form_error_after_the_password_keeps_the_form_s_address(
    client: Client, world: World
) -> None:
    sign_in(client, world.signatory)
    url = reverse("portal-handover", args=[world.met().engagement.reference])
    refused = client.post(client.post(url, {})["Location"], {"password": PASSWORD})
    assert f'method="post" action="{url}"' in refused.content.decode()


def test_reauthentication_expires(client: Client, world: World, contract: ContractVersion) -> None:
    sign_in(client, world.signatory)
    url, data = acceptance(contract, Party.CUSTOMER)
    client.post(client.post(url, data)["Location"], {"password": "wrong"})
    session = client.session
    records = session["account_authentication_methods"]
    session["account_authentication_methods"] = [
        {**record, "reauthenticated": True, "at": record["at"] - 301} for record in records
    ]
    session.save()
    assert client.post(url, data)["Location"].startswith(reverse("account_reauthenticate"))


def test_permissions_are_checked_before_the_password(
    client: Client, world: World, contract: ContractVersion
) -> None:
    url, data = acceptance(contract, Party.CUSTOMER)
    for person, status in ((world.stranger, 404), (world.viewer, 403), (world.consultant, 403)):
        other = Client()
        sign_in(other, person)
        assert other.post(url, data).status_code == status
    url, data = acceptance(contract, Party.CONSULTANCY)
    for person, status in ((world.stranger, 404), (world.finance, 403)):
        other = Client()
        sign_in(other, person)
        assert other.post(url, data).status_code == status


def test_a_field_error_after_the_password_is_shown_at_the_field(
    client: Client, world: World
) -> None:
    sign_in(client, world.finance)
    url = reverse("bank-account", args=[world.customer.pk])
    data = {"holder": "Longprompt AG", "iban": "DE02120300000000202052", "bic": ""}
    asked = client.post(url, data)["Location"]
    assert asked.startswith(reverse("account_reauthenticate"))
    refused = client.post(asked, {"password": PASSWORD}).content.decode()
    assert re.search(r'name="iban"[^>]*aria-invalid="true"', refused)
    assert f'method="post" action="{url}"' in refused
    assert client.post(url, data | {"iban": "DE02120300000000202051"})["Location"] == url
    assert world.customer.bank_accounts.count() == 1
    account = world.customer.bank_accounts.get()
    refund_accounts.confirm(account=account, by=world.signatory)
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    page = client.get(reverse("transfers"), {"settlement": row.pk}).content.decode()
    assert f'method="post" action="{reverse("transfers")}"' in page


def test_a_user_without_a_password_is_shown_how_to_set_one(
    client: Client, world: World, contract: ContractVersion
) -> None:
    row = world.settlement()
    party = acceptance(contract, Party.CUSTOMER)
    acts = [
        (world.signatory, *party),
        (world.finance, reverse("settlement-approve", args=[row.pk]), {}),
    ]
    for person, url, data in acts:
        client.force_login(person)
        answer = client.post(url, data)
        assert answer.status_code == 403
        assert reverse("account_reset_password") in answer.content.decode()
    assert not contract.acceptances.exists()
    row.refresh_from_db()
    assert row.state == "proposed"
