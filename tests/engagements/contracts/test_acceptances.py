"""Each party accepts exactly the sealed terms, once; both acceptances put them in force."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from engagements.contracts import offers
from engagements.contracts.models import Party
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement.models import Stage
from tests.engagements.world import World, fresh, today
from tests.errors import declined

CUSTOMER, HOUSE = Party.CUSTOMER, Party.CONSULTANCY


@pytest.mark.parametrize("order", [(CUSTOMER, HOUSE), (HOUSE, CUSTOMER)])
def test_both_sides_accept_in_either_order(world: World, order: tuple[Party, Party]) -> None:
    contract = world.offered()
    once = world.accept(contract, order[0])
    assert (once.state, fresh(contract.engagement).stage) == ("offered", Stage.OFFERED)
    both = world.accept(contract, order[1])
    assert (both.state, fresh(contract.engagement).stage) == ("accepted", Stage.ACTIVE)


def test_an_acceptance_records_person_time_address_and_digest(world: World) -> None:
    contract = world.accept(world.offered(), CUSTOMER, typed_name=" sigrid ")
    acceptance = contract.acceptances.get()
    assert (acceptance.user, acceptance.typed_name) == (world.signatory, "sigrid")
    assert (acceptance.address, acceptance.digest) == ("192.0.2.7", contract.digest)
    event = contract.engagement.events.get(verb="contract.accepted")
    assert (event.address, event.changes["digest"]) == ("192.0.2.7", contract.digest)
    with pytest.raises(IntegrityError), transaction.atomic():
        contract.acceptances.update(typed_name="Somebody else")


def test_a_contract_in_force_has_a_time_box_and_released_milestones(world: World) -> None:
    contract = world.active()
    states = list(contract.milestones.order_by("position").values_list("state", flat=True))
    assert states == ["released", "released", "pending", "pending"]
    box = TimeBox.objects.get(engagement=contract.engagement)
    assert box.starts_on == contract.starts_on
    assert box.ends_on == box.starts_on + timedelta(days=6 * 7 - 1)


def test_a_time_box_starts_no_earlier_than_the_contract_is_accepted(world: World) -> None:
    contract = world.active(starts_on=today() - timedelta(days=20))
    accepted_on = contract.acceptances.latest("accepted_at").accepted_at.date()
    assert TimeBox.objects.get(engagement=contract.engagement).starts_on == accepted_on


def test_an_offer_cannot_start_long_ago(world: World) -> None:
    with declined("offer.starts_in_the_past"):
        world.offered(starts_on=today() - timedelta(days=6 * 365))


def test_only_the_sealed_digest_is_accepted_under_a_name(world: World) -> None:
    contract = world.offered()
    for changes, code in (
        ({"digest": "sha256:" + "0" * 64}, "acceptance.other_digest"),
        ({"digest": ""}, "acceptance.other_digest"),
        ({"typed_name": "  "}, "validation.missing"),
        ({"typed_name": "\u200b"}, "validation.missing"),
        ({"typed_name": "Sigrid S."}, "acceptance.other_name"),
        ({"party": "referee"}, "acceptance.no_party"),
    ):
        with declined(code):
            world.accept(contract, CUSTOMER, **changes)
    assert not contract.acceptances.exists()


def test_only_the_customer_s_signatory_accepts_for_it(world: World) -> None:
    contract = world.offered()
    for who in (world.viewer, world.stranger, world.nobody, world.consultant, world.admin):
        with declined("access.signatories_only"):
            world.accept(contract, CUSTOMER, by=who)


def test_only_a_consultant_accepts_for_the_consultancy(world: World) -> None:
    contract = world.offered()
    for who in (world.signatory, world.finance, world.nobody):
        with declined("access.consultants_only"):
            world.accept(contract, HOUSE, by=who)


def test_an_inactive_signatory_may_not_sign(world: World) -> None:
    contract = world.offered()
    world.signatory.is_active = False
    world.signatory.save()
    with declined("access.signatories_only"):
        world.accept(contract, CUSTOMER)


def test_accepting_twice_changes_nothing(world: World) -> None:
    contract = world.active()
    again = world.accept(contract, CUSTOMER, typed_name="Again")
    assert again.state == "accepted"
    assert contract.acceptances.count() == 2
    assert contract.engagement.events.filter(verb="contract.accepted").count() == 2
    assert contract.engagement.events.filter(verb="time_box.started").count() == 1


def test_a_draft_and_a_withdrawn_offer_are_accepted_by_nobody(world: World) -> None:
    contract = world.drafted()
    with declined("acceptance.other_digest"):
        world.accept(contract, CUSTOMER)
    contract = offers.offer(contract=contract, by=world.consultant)
    offers.withdraw(contract=contract, reason="Wrong.", by=world.consultant)
    with declined("offer.not_open"):
        world.accept(contract, CUSTOMER)
