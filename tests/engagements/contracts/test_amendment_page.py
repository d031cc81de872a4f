"""Amending the contract in force: form, preview, offer and differences."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts.models import ContractVersion, Party
from tests.engagements.world import World, days, today

pytestmark = pytest.mark.django_db


@pytest.fixture
def contract(world: World) -> ContractVersion:
    return world.active()


def url(name: str, contract: ContractVersion) -> str:
    return reverse(name, args=[contract.engagement.reference])


def send(client: Client, contract: ContractVersion, **changes: str) -> Any:
    data = {"change": "more_time", "reason": "The weights came late.", "weeks": "8", "do": "save"}
    return client.post(url("contract-amend", contract), data | changes)


def test_an_amendment_is_drafted_offered_and_shows_what_is_different(
    client: Client, world: World, contract: ContractVersion
) -> None:
    client.force_login(world.consultant)
    assert (
        url("contract-amend", contract)
        in client.get(url("engagement-contract", contract)).content.decode()
    )
    assert send(client, contract).status_code == 302
    page = client.get(url("engagement-contract", contract)).content.decode()
    assert "<del>6</del>" in page
    assert "<ins>8</ins>" in page
    assert url("contract-discard", contract) in page
    assert client.post(url("contract-offer", contract)).status_code == 302
    new = contract.engagement.contracts.get(number=2)
    assert new.state == "offered"
    client.force_login(world.signatory)
    portal = reverse("portal-contract", args=[contract.engagement.reference])
    shown = client.get(portal).content.decode()
    assert 'id="changes"' in shown
    assert "The weights came late." in shown
    assert "<ins>8</ins>" in shown
    for party in Party:
        world.accept(new, party)
    old = client.get(reverse("portal-contract-version", args=[new.engagement.reference, 1]))
    assert contract.digest in old.content.decode()


INVALID: list[dict[str, str]] = [
    {"weeks": ""},
    {"weeks": "6"},
    {"weeks": "11"},
    {"reason": ""},
    {"change": "weather"},
    {"change": "price", "fee": "48,000.00"},
    {"change": "pause"},
    {"change": "benchmark"},
]


def test_an_invalid_amendment_is_not_saved(
    client: Client, world: World, contract: ContractVersion
) -> None:
    client.force_login(world.consultant)
    for changes in INVALID:
        answer = send(client, contract, **changes)
        assert answer.status_code == 422, changes
        assert 'role="alert"' in answer.content.decode() or "_error" in answer.content.decode()
    assert contract.engagement.contracts.count() == 1


def test_a_pause_has_a_party_a_reason_and_two_days(
    client: Client, world: World, contract: ContractVersion
) -> None:
    client.force_login(world.consultant)
    answer = send(
        client,
        contract,
        change="pause",
        pause_from=str(today() + days(2)),
        pause_until=str(today() + days(6)),
        waits_for="The customer",
        pause_reason="The weights are not there.",
    )
    assert answer.status_code == 302
    page = client.get(url("engagement-contract", contract)).content.decode()
    assert "The weights are not there." in page


def test_another_is_named_to_sign_and_the_one_named_before_accepts_it(
    client: Client, world: World
) -> None:
    contract = world.active(signatory=world.signatory)
    other = world.also_signs("Olga")
    client.force_login(world.consultant)
    form = client.get(url("contract-amend", contract)).content.decode()
    assert f'<option value="{world.signatory.pk}" selected>Sigrid</option>' in form
    stranger = send(client, contract, change="signatory", signatory=str(world.stranger.pk))
    assert stranger.status_code == 422
    assert send(client, contract, change="signatory", signatory=str(other.pk)).status_code == 302
    client.post(url("contract-offer", contract))
    portal = reverse("portal-contract", args=[contract.engagement.reference])
    for person, signs in ((world.signatory, True), (other, False)):
        client.force_login(person)
        shown = client.get(portal).content.decode()
        assert ('id="signing"' in shown) == signs


def test_the_preview_shows_the_document_and_saves_nothing(
    client: Client, world: World, contract: ContractVersion
) -> None:
    client.force_login(world.consultant)
    answer = client.post(
        url("contract-amend", contract),
        {"change": "price", "reason": "More work.", "fee": "60000", "do": "preview"},
        headers={"HX-Request": "true"},
    )
    page = answer.content.decode()
    assert contract.digest in page
    assert "EUR\xa060,000.00" in page
    assert "<html" not in page
    assert contract.engagement.contracts.count() == 1
    declined = send(client, contract, do="preview", weeks="6").content.decode()
    assert 'role="alert"' in declined
    invalid = send(client, contract, do="preview", weeks="x").content.decode()
    assert "<article" not in invalid


def test_a_draft_is_discarded(client: Client, world: World, contract: ContractVersion) -> None:
    client.force_login(world.consultant)
    send(client, contract)
    assert client.post(url("contract-discard", contract)).status_code == 302
    assert contract.engagement.contracts.count() == 1


def test_only_a_contract_in_force_is_amended(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    offered = world.offered()
    assert client.get(url("contract-amend", offered)).status_code == 302
    assert send(client, offered).status_code == 302
    assert offered.engagement.contracts.count() == 1


def test_versions_are_compared_as_asked(
    client: Client, world: World, contract: ContractVersion
) -> None:
    client.force_login(world.consultant)
    page = url("engagement-contract", contract)
    assert client.get(page, {"version": "1", "against": "7"}).status_code == 404
    send(client, contract)
    shown = client.get(page, {"version": "1", "against": "2"}).content.decode()
    assert "<ins>6</ins>" in shown


def test_only_consultants_amend(client: Client, world: World, contract: ContractVersion) -> None:
    for person in (world.signatory, world.stranger, world.nobody):
        client.force_login(person)
        assert client.get(url("contract-amend", contract)).status_code == 404
        assert send(client, contract).status_code == 404
        assert client.post(url("contract-discard", contract)).status_code == 404
    client.force_login(world.finance)
    assert client.get(url("contract-amend", contract)).status_code == 200
    assert send(client, contract).status_code == 403
    assert client.post(url("contract-discard", contract)).status_code == 403
