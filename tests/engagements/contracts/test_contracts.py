"""Draft, seal and offer terms; decline and withdraw an offer."""

import hashlib
from datetime import date
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from benchmarks.records.canonical import canonical
from engagements.contracts import offers
from engagements.contracts import services as contracts
from engagements.contracts import terms as contract_terms
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Stage
from engagements.people.models import Customer, Membership
from tests.engagements.world import MILESTONES, World, fresh
from tests.errors import declined

CUSTOMER, HOUSE = Party.CUSTOMER, Party.CONSULTANCY


def test_a_draft_has_its_milestones_in_order(world: World) -> None:
    contract = world.drafted()
    assert (contract.number, contract.state, contract.digest) == (1, "draft", "")
    parts = contract.milestones.values_list("position", "title", "amount", "condition")
    assert list(parts) == [(i, *part) for i, part in enumerate(MILESTONES, start=1)]


BAD_TERMS: list[tuple[dict[str, object], str]] = [
    ({"fee": Decimal("48000.01")}, "contract.milestones_not_fee"),
    ({"fee": Decimal("48000.001")}, "amount.too_precise"),
    ({"fee": Decimal("1e30")}, "amount.out_of_range"),
    ({"fee": Decimal("NaN")}, "amount.out_of_range"),
    ({"fee": Decimal("0"), "milestones": []}, "contract.fee_is_positive"),
    ({"milestones": []}, "contract.milestones_not_fee"),
    ({"audit_cost": Decimal("6000.01")}, "contract.audit_cost_too_high"),
    ({"audit_cost": Decimal("-1")}, "contract.audit_cost_is_within_the_fee"),
    ({"currency": "USD"}, "contract.other_currency"),
    ({"currency": "EURO"}, "amount.unknown_currency"),
    ({"weeks": 2}, "contract.runs_3_to_10_weeks"),
    ({"starts_on": date.max}, "contract.day_too_far"),
    ({"weeks": 11}, "contract.runs_3_to_10_weeks"),
    ({"target": Decimal("1.5")}, "contract.other_target"),
    ({"tax_rate_percent": Decimal("100")}, "contract.tax_rate_is_a_share"),
    ({"inconclusive": "shrug"}, "contractversion.invalid_choice"),
    (
        {"milestones": [MilestoneDraft("All", Decimal("48000"), "whenever")]},
        "milestone.invalid_choice",
    ),
    ({"milestones": [MilestoneDraft(" ", Decimal("48000"), "signed")]}, "validation.missing"),
    (
        {
            "milestones": [
                MilestoneDraft("All", Decimal("48001"), "signed"),
                MilestoneDraft("Less", Decimal("-1"), "signed"),
            ]
        },
        "milestone.not_positive",
    ),
]


def test_invalid_terms_are_declined(world: World) -> None:
    engagement = world.audited()
    for changes, code in BAD_TERMS:
        with declined(code):
            contracts.draft(engagement=engagement, **world.terms(**changes))
    assert not ContractVersion.objects.exists()
    assert not Milestone.objects.exists()


def test_a_contract_follows_an_audit(world: World) -> None:
    with declined("engagement.wrong_stage"):
        world.drafted(world.scoping())


def test_there_is_one_open_version_at_a_time(world: World) -> None:
    contract = world.drafted()
    with declined("contract.version_open"):
        world.drafted(contract.engagement)


def test_a_revised_draft_says_what_changed(world: World) -> None:
    contract = world.drafted()
    contract = contracts.revise(contract=contract, **world.terms(weeks=8))
    assert contract.weeks == 8
    assert contract.milestones.count() == 4
    event = contract.engagement.events.get(verb="contract.revised")
    assert event.changes == {"weeks": ["6", "8"]}


def test_an_offer_seals_the_terms(world: World) -> None:
    contract = world.offered()
    sealed = bytes(contract.canonical or b"")
    assert contract.digest == "sha256:" + hashlib.sha256(sealed).hexdigest()
    terms = contract_terms.terms_of(contract)
    assert canonical(terms) == sealed
    assert terms["schema"] == "twofold.terms/4"
    assert (terms["fee"], terms["audit_cost"], terms["target"]) == ("48000.00", "6000.00", "2.00")
    assert terms["benchmark"]["digest"] == world.benchmark.digest
    assert [part["amount"] for part in terms["milestones"]] == [
        "12000.00",
        "6000.00",
        "22000.00",
        "8000.00",
    ]
    assert terms["parties"]["consultancy"] == settings.CONSULTANCY
    assert terms["signatories"]["customer"] == [{"name": "Sigrid", "email": world.signatory.email}]
    assert "2 times" in terms["promise"]
    assert fresh(contract.engagement).stage == Stage.OFFERED


def test_amounts_are_sealed_in_the_currency_s_own_unit(world: World) -> None:
    terms = contract_terms.terms_of(world.offered(currency="JPY"))
    assert terms["fee"] == "48000"


def test_terms_keep_the_address_that_the_customer_had(world: World) -> None:
    contract = world.offered()
    Customer.objects.filter(pk=world.customer.pk).update(address="Elsewhere")
    contract = ContractVersion.objects.get(pk=contract.pk)
    assert contract_terms.terms_of(contract)["parties"]["customer"]["address"].startswith("Weg 1")


def test_a_draft_has_no_sealed_terms(world: World) -> None:
    with pytest.raises(ValueError, match="draft"):
        contract_terms.terms_of(world.drafted())


def test_offering_twice_seals_once(world: World) -> None:
    contract = world.offered()
    again = offers.offer(contract=contract, by=world.consultant)
    assert (again.digest, again.sealed_at) == (contract.digest, contract.sealed_at)
    assert contract.engagement.events.filter(verb="contract.offered").count() == 1


def test_an_offer_requires_a_signatory(world: World) -> None:
    contract = world.drafted()
    Membership.objects.filter(user=world.signatory).update(rights="viewer")
    with declined("offer.no_signatory"):
        offers.offer(contract=contract, by=world.consultant)


def test_milestones_are_added_up_again_when_the_terms_are_sealed(world: World) -> None:
    contract = world.drafted()
    contract.milestones.filter(position=1).update(amount=Decimal("11999"))
    with declined("contract.milestones_not_fee"):
        offers.offer(contract=contract, by=world.consultant)


def test_sealed_terms_are_never_changed(world: World) -> None:
    contract = world.offered()
    with declined("engagement.wrong_stage"):
        contracts.revise(contract=contract, **world.terms(weeks=8))
    offers.withdraw(contract=contract, reason="Wrong weeks.", by=world.consultant)
    with declined("contract.sealed"):
        contracts.revise(contract=contract, **world.terms(weeks=8))
    with pytest.raises(IntegrityError), transaction.atomic():
        ContractVersion.objects.filter(pk=contract.pk).update(weeks=8)


def test_a_declined_offer_makes_way_for_the_next_version(world: World) -> None:
    contract = world.offered()
    declined = offers.decline(contract=contract, reason="Too long.", by=world.signatory)
    assert declined.state == "declined"
    assert offers.decline(contract=contract, reason="x", by=world.signatory) == declined
    assert fresh(contract.engagement).stage == Stage.AUDITED
    assert world.drafted(contract.engagement).number == 2


def test_declining_and_withdrawing_require_a_reason(world: World) -> None:
    contract = world.offered()
    with declined("validation.missing"):
        offers.decline(contract=contract, reason=" ", by=world.signatory)
    with declined("validation.missing"):
        offers.withdraw(contract=contract, reason="", by=world.consultant)


def test_the_customer_declines_and_the_consultancy_withdraws(world: World) -> None:
    contract = world.offered()
    with declined("access.signatories_only"):
        offers.decline(contract=contract, reason="No.", by=world.consultant)
    with declined("access.consultants_only"):
        offers.withdraw(contract=contract, reason="No.", by=world.signatory)


def test_an_accepted_offer_is_not_declined(world: World) -> None:
    contract = world.accept(world.offered(), CUSTOMER)
    with declined("offer.accepted"):
        offers.decline(contract=contract, reason="Regret.", by=world.signatory)


def test_a_contract_in_force_is_neither_declined_nor_withdrawn_nor_offered(world: World) -> None:
    contract = world.active()
    with declined("offer.not_open"):
        offers.withdraw(contract=contract, reason="Regret.", by=world.consultant)
    with declined("contract.not_a_draft"):
        offers.offer(contract=contract, by=world.consultant)


@pytest.mark.parametrize("who", ["finance", "signatory"])
def test_only_consultants_write_contracts(world: World, who: str) -> None:
    by = getattr(world, who)
    contract = world.drafted()
    with declined("access.consultants_only"):
        world.drafted(world.audited(), by=by)
    with declined("access.consultants_only"):
        contracts.revise(contract=contract, **world.terms(by=by))
    with declined("access.consultants_only"):
        offers.offer(contract=contract, by=by)


def test_the_contract_is_issued_when_offered_and_when_in_force(
    world: World,
    documents_wanted: list[object],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    engagement = world.audited()
    with django_capture_on_commit_callbacks(execute=True):
        contract = world.active(engagement)
    assert documents_wanted == [
        ("contract", f"contract:{contract.pk}"),
        ("contract", f"contract:{contract.pk}:accepted"),
        ("completion_certificate", f"contract:{contract.pk}"),
    ]
