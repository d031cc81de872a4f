"""What binds somebody asks the password again, and then goes on with what was asked."""

from __future__ import annotations

import re
import time

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts.models import ContractVersion, Party
from engagements.people.models import User
from engagements.settlements import services as settlements
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough sentence of words"


@pytest.fixture
def contract(world: World) -> ContractVersion:
    return world.offered()


def sign_in(client: Client, person: User) -> None:
    """With a password, through the page, as people do."""
    person.set_password(PASSWORD)
    person.save()
    answer = client.post(reverse("account_login"), {"login": person.email, "password": PASSWORD})
    assert answer.status_code == 302


def acceptance(contract: ContractVersion, party: Party) -> tuple[str, dict[str, str]]:
    """Where to and what is sent."""
    reference = contract.engagement.reference
    data = {"typed_name": "Full Name", "digest": contract.digest, "agreed": "on"}
    if party == Party.CUSTOMER:
        return reverse("portal-contract-accept", args=[reference, contract.number]), data
    return reverse("contract-accept", args=[reference]), data


@pytest.mark.parametrize("party", list(Party))
def test_the_password_is_asked_again_and_the_acceptance_goes_on(
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
    assert (accepted.party, accepted.typed_name) == (party, "Full Name")
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


def test_the_handover_asks_the_password_too_for_it_makes_money_due(
    client: Client, world: World
) -> None:
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


def test_a_handover_that_is_refused_behind_the_password_is_sent_again_to_where_it_belongs(
    client: Client, world: World
) -> None:
    sign_in(client, world.signatory)
    url = reverse("portal-handover", args=[world.met().engagement.reference])
    refused = client.post(client.post(url, {})["Location"], {"password": PASSWORD})
    assert f'method="post" action="{url}"' in refused.content.decode()


def test_a_sign_in_grows_stale(client: Client, world: World, contract: ContractVersion) -> None:
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


def test_whoever_may_not_sign_is_told_so_before_any_password(
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


def test_what_is_refused_after_the_password_is_sent_again_to_where_it_belongs(
    client: Client, world: World
) -> None:
    sign_in(client, world.finance)
    url = reverse("bank-account", args=[world.customer.pk])
    data = {"holder": "Longprompt AG", "iban": "DE02120300000000202052", "bic": ""}
    asked = client.post(url, data)["Location"]
    assert asked.startswith(reverse("account_reauthenticate"))
    refused = client.post(asked, {"password": PASSWORD}).content.decode()
    assert "is no IBAN: check every digit" in refused
    # Beside the field that it is about.
    assert re.search(r'name="iban"[^>]*aria-invalid="true"', refused)
    assert f'method="post" action="{url}"' in refused
    assert client.post(url, data | {"iban": "DE02120300000000202051"})["Location"] == url
    assert world.customer.bank_accounts.count() == 1
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    page = client.get(reverse("transfers"), {"settlement": row.pk}).content.decode()
    assert f'method="post" action="{reverse("transfers")}"' in page


def test_who_has_no_password_to_confirm_with_is_told_how_to_get_one(
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
        told = client.post(url, data)
        assert told.status_code == 403
        assert reverse("account_reset_password") in told.content.decode()
    assert not contract.acceptances.exists()
    row.refresh_from_db()
    assert row.state == "proposed"
