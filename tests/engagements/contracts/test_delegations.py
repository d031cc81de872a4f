"""The signature delegated to another signatory, and the order of the two signatures."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts import delegations, mails
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance, Delegation
from engagements.contracts.terms import terms_of
from engagements.notifications.models import Mail
from engagements.people.models import Membership, User
from tests.database_constraints import violates
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, undone
from tests.errors import declined


@pytest.fixture
def other(world: World) -> User:
    return world.also_signs("Olga")


@pytest.fixture
def contract(world: World, other: User) -> ContractVersion:
    return world.offered(signatory=world.signatory)


def url_of(contract: ContractVersion, act: str) -> str:
    return reverse(f"portal-contract-{act}", args=[contract.engagement.reference, contract.number])


def test_the_sole_signatory_delegates_and_only_the_delegate_signs(
    client: Client, world: World, contract: ContractVersion, other: User
) -> None:
    sign_in(client, world.signatory)
    page = reverse("portal-contract", args=[contract.engagement.reference])
    assert url_of(contract, "delegate") in client.get(page).content.decode()
    answer = client.post(url_of(contract, "delegate"), {"delegate": other.pk})
    assert answer.status_code == 302
    event = contract.engagement.events.get(verb="contract.delegated")
    assert (event.actor, event.changes["delegate"]) == (world.signatory, other.name)
    assert event.changes["digest"] == contract.digest
    mail = Mail.objects.get(key__startswith="delegation:")
    assert (mail.recipient, contract.digest in mail.body) == (other.email, True)
    with declined("acceptance.other_signatory"):
        world.accept(contract, Party.CUSTOMER)
    assert url_of(contract, "accept") not in client.get(page).content.decode()
    world.accept(contract, Party.CUSTOMER, by=other)
    assert world.accept(contract, Party.CONSULTANCY).state == "accepted"


def test_the_delegate_receives_the_reminder(
    world: World, contract: ContractVersion, other: User
) -> None:
    delegations.delegate(contract=contract, to=other, by=world.signatory)
    assert [each.recipient for each in mails.remind(contract=contract)] == [other.email]


def test_only_the_sole_signatory_delegates_and_only_to_another_signatory(
    world: World, contract: ContractVersion, other: User
) -> None:
    for to, by, code in (
        (world.viewer, world.signatory, "delegation.not_a_signatory"),
        (world.stranger, world.signatory, "delegation.not_a_signatory"),
        (world.signatory, world.signatory, "delegation.not_a_signatory"),
        (other, other, "delegation.not_the_signatory"),
        (other, world.viewer, "access.signatories_only"),
        (other, world.consultant, "access.signatories_only"),
    ):
        with declined(code):
            delegations.delegate(contract=contract, to=to, by=by)
    with undone():
        world.accept(contract, Party.CUSTOMER)
        with declined("offer.accepted"):
            delegations.delegate(contract=contract, to=other, by=world.signatory)
    anyone = world.offered()
    with declined("delegation.not_the_signatory"):
        delegations.delegate(contract=anyone, to=other, by=world.signatory)


def test_the_database_refuses_a_false_delegate_and_the_original_signatory(
    world: World, contract: ContractVersion, other: User
) -> None:
    with violates("delegation.delegable"):
        Delegation.objects.create(
            contract_version=contract, delegator=world.signatory, delegate=world.viewer
        )
    delegations.delegate(contract=contract, to=other, by=world.signatory)
    with violates("acceptance.delegated"):
        signed_in_database(contract, Party.CUSTOMER, world.signatory)


def test_a_delegate_without_the_right_no_longer_signs(
    world: World, contract: ContractVersion, other: User
) -> None:
    delegations.delegate(contract=contract, to=other, by=world.signatory)
    Membership.objects.filter(user=other).update(rights="viewer")
    with declined("access.signatories_only"):
        world.accept(contract, Party.CUSTOMER, by=other)


def test_another_customer_finds_nothing_to_delegate(
    client: Client, world: World, contract: ContractVersion, other: User
) -> None:
    sign_in(client, world.stranger)
    answer = client.post(url_of(contract, "delegate"), {"delegate": other.pk})
    assert answer.status_code == 404


def signed_in_database(contract: ContractVersion, party: Party, user: User) -> None:
    Acceptance.objects.create(
        contract_version=contract,
        party=party,
        user=user,
        typed_name=user.name,
        digest=contract.digest,
        consent="Yes",
    )


@pytest.mark.parametrize("first", list(Party))
def test_the_agreed_party_signs_first(world: World, first: Party) -> None:
    contract = world.offered(signing_order=first.value)
    assert terms_of(contract)["signing_order"] == first
    then = next(each for each in Party if each != first)
    with declined("acceptance.out_of_order"):
        world.accept(contract, then)
    people = {Party.CUSTOMER: world.signatory, Party.CONSULTANCY: world.consultant}
    with violates("acceptance.order"):
        signed_in_database(contract, then, people[then])
    world.accept(contract, first)
    is_told = Mail.objects.filter(key=f"contract-turn:{contract.pk}").exists()
    assert is_told == (first == Party.CONSULTANCY)
    assert world.accept(contract, then).state == "accepted"


def test_the_pages_offer_a_signature_only_in_its_turn(client: Client, world: World) -> None:
    contract = world.offered(signing_order="consultancy")
    page = reverse("portal-contract", args=[contract.engagement.reference])
    sign_in(client, world.signatory)
    assert url_of(contract, "accept") not in client.get(page).content.decode()
    assert mails.remind(contract=contract) == []
    world.accept(contract, Party.CONSULTANCY)
    assert url_of(contract, "accept") in client.get(page).content.decode()
    other = world.offered(signing_order="customer")
    ours = reverse("engagement-contract", args=[other.engagement.reference])
    sign = reverse("contract-accept", args=[other.engagement.reference])
    client.force_login(world.consultant)
    assert sign not in client.get(ours).content.decode()
    world.accept(other, Party.CUSTOMER)
    assert sign in client.get(ours).content.decode()
