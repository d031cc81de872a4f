"""The sole signatory accepts the terms, and an amendment that names another."""

from __future__ import annotations

from typing import Any

import pytest

from engagements.contracts import amendments, offers
from engagements.contracts.differences import differences
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.terms import terms_of
from engagements.people.models import Membership, User
from tests.engagements.world import World
from tests.errors import declined


@pytest.fixture
def contract(world: World) -> ContractVersion:
    return world.active(signatory=world.signatory)


@pytest.fixture
def other(world: World) -> User:
    return world.also_signs("Olga")


def drafted(world: World, contract: ContractVersion, named: User | None) -> ContractVersion:
    return amendments.draft(
        engagement=contract.engagement,
        change="signatory",
        reason="Sigrid changes her role.",
        by=world.consultant,
        signatory=named,
    )


def offered(world: World, contract: ContractVersion, named: User | None) -> ContractVersion:
    return offers.offer(contract=drafted(world, contract, named), by=world.consultant)


def names(people: list[dict[str, str]]) -> list[str]:
    return [person["name"] for person in people]


def in_force(world: World, version: ContractVersion, by: User) -> ContractVersion:
    world.accept(version, Party.CUSTOMER, by=by)
    return world.accept(version, Party.CONSULTANCY)


def test_only_the_sole_signatory_accepts(world: World) -> None:
    contract = world.offered(signatory=world.signatory)
    other = world.also_signs("Second")
    assert terms_of(contract)["signatories"]["customer"] == [
        {"name": "Sigrid", "email": world.signatory.email}
    ]
    assert terms_of(contract)["signatory"] == terms_of(contract)["signatories"]["customer"][0]
    with declined("acceptance.other_signatory"):
        world.accept(contract, Party.CUSTOMER, by=other)
    world.accept(contract, Party.CUSTOMER)


def test_an_amendment_keeps_the_sole_signatory_while_they_may_sign(
    world: World,
) -> None:
    contract = world.active(signatory=world.signatory)
    world.also_signs("Second")
    more: dict[str, Any] = {
        "change": "more_time",
        "reason": "We wait.",
        "weeks": 8,
        "by": world.consultant,
    }
    foreseen = amendments.preview(engagement=contract.engagement, **more)
    assert foreseen["signatory"]["name"] == "Sigrid"
    assert foreseen["refund_days"] == 14
    Membership.objects.filter(user=world.signatory).update(rights="viewer")
    foreseen = amendments.preview(engagement=contract.engagement, **more)
    assert foreseen["signatory"] is None
    assert [person["name"] for person in foreseen["signatories"]["customer"]] == ["Second"]


def test_a_person_without_the_right_to_sign_cannot_be_named(world: World) -> None:
    contract = world.drafted(signatory=world.viewer)
    with declined("contract.not_a_signatory"):
        offers.offer(contract=contract, by=world.consultant)


def test_a_change_of_signatory_is_accepted_by_the_present_one(
    world: World, contract: ContractVersion, other: User
) -> None:
    version = offered(world, contract, other)
    terms = terms_of(version)
    assert terms["signatory"]["name"] == "Olga"
    assert names(terms["signatories"]["customer"]) == ["Sigrid"]
    changed = {
        each.label: (each.before, each.after) for each in differences(terms_of(contract), terms)
    }
    assert changed == {"Sole signatory of the customer": ("Sigrid", "Olga")}
    with declined("acceptance.other_signatory"):
        world.accept(version, Party.CUSTOMER, by=other)
    assert in_force(world, version, world.signatory).state == "accepted"
    more = amendments.draft(
        engagement=contract.engagement,
        change="more_time",
        reason="We wait.",
        by=world.consultant,
        weeks=8,
    )
    version = offers.offer(contract=more, by=world.consultant)
    with declined("acceptance.other_signatory"):
        world.accept(version, Party.CUSTOMER)
    assert in_force(world, version, other).state == "accepted"


def test_any_signatory_accepts_a_change_without_a_valid_sole_signatory(
    world: World, contract: ContractVersion, other: User
) -> None:
    version = offered(world, contract, other)
    Membership.objects.filter(user=world.signatory).update(rights="viewer")
    assert in_force(world, version, other).signatory == other
    version = offered(world, contract, None)
    assert in_force(world, version, other).signatory is None
    back = offered(world, contract, other)
    third = world.also_signs("Third")
    assert names(terms_of(back)["signatories"]["customer"]) == ["Olga"]
    assert in_force(world, back, third).signatory == other


INVALID: list[tuple[str, str]] = [
    ("signatory", "amendment.unchanged"),
    ("viewer", "contract.not_a_signatory"),
    ("stranger", "contract.not_a_signatory"),
    ("consultant", "contract.not_a_signatory"),
]


def test_a_new_signatory_is_another_person_with_the_right_to_sign(
    world: World, contract: ContractVersion
) -> None:
    for who, code in INVALID:
        with declined(code):
            drafted(world, contract, getattr(world, who))
    anyone = world.active()
    with declined("amendment.unchanged"):
        drafted(world, anyone, None)


def test_the_document_names_present_and_later_signatories(
    world: World, contract: ContractVersion, other: User
) -> None:
    text = terms_of(offered(world, contract, other))["text"]
    clauses = {each["slug"]: " ".join(each["paragraphs"]) for each in text["clauses"]}
    assert "From the next version on, Olga signs for the customer" in clauses["agreement"]
    assert "Sigrid, or another signatory" in clauses["signature"]
    alone = terms_of(world.offered(signatory=world.signatory))["text"]["clauses"]
    assert any(each.startswith("Only Sigrid signs") for each in alone[-1]["paragraphs"])
