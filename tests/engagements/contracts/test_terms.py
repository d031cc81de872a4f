"""Tax, clauses, shares, days and periods of the terms, and the end of an offer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from engagements.common.money import allocate
from engagements.contracts import offers
from engagements.contracts import services as contracts
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.models import Clause
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.fields import FIELDS
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.terms import terms_of
from engagements.engagement.models import Stage
from tests.engagements.world import World, days, fresh, today
from tests.errors import declined

NOTE = "Steuerschuldnerschaft des Leistungsempfängers."


def parts(*shares: str) -> list[MilestoneDraft]:
    return [
        MilestoneDraft(f"Part {number}", None, "signed", share=Decimal(share))
        for number, share in enumerate(shares, start=1)
    ]


def test_shares_divide_what_the_amounts_leave_to_the_last_cent(world: World) -> None:
    audit = MilestoneDraft("Audit", Decimal("6000"), "audit_delivered")
    contract = world.drafted(
        fee=Decimal("16000.01"), milestones=[audit, *parts("33.33", "33.33", "33.33")]
    )
    amounts = list(contract.milestones.values_list("amount", flat=True))
    assert amounts == [Decimal("6000"), Decimal("3333.34"), Decimal("3333.34"), Decimal("3333.33")]
    assert offers.offer(contract=contract, by=world.consultant).state == "offered"


@given(
    fee=st.integers(1, 10**9),
    shares=st.lists(st.decimals("0.01", "100", places=2), min_size=1, max_size=12),
    currency=st.sampled_from(["EUR", "JPY", "KWD"]),
)
def test_parts_always_add_up(fee: int, shares: list[Decimal], currency: str) -> None:
    whole = Decimal(fee)
    assert sum(allocate(whole, shares, currency)) == whole


BAD_PARTS: list[tuple[list[MilestoneDraft], str]] = [
    (parts("50", "40"), "milestone.shares_not_100"),
    (parts("60", "60"), "milestone.shares_not_100"),
    (
        [MilestoneDraft("Both", Decimal(1), "signed", share=Decimal(100))],
        "milestone.amount_or_share",
    ),
    ([MilestoneDraft("None", None, "signed")], "milestone.amount_or_share"),
    (
        [MilestoneDraft("All", Decimal("48000"), "signed"), *parts("100")],
        "milestone.nothing_to_share",
    ),
    ([MilestoneDraft("Day", Decimal("48000"), "date")], "milestone.date_has_its_day"),
    (
        [MilestoneDraft("Day", Decimal("48000"), "signed", due_on=dt.date(2026, 1, 1))],
        "milestone.date_has_its_day",
    ),
]


def test_invalid_milestones_are_declined(world: World) -> None:
    engagement = world.audited()
    for milestones, code in BAD_PARTS:
        with declined(code):
            contracts.draft(engagement=engagement, **world.terms(milestones=milestones))


def test_a_milestone_may_wait_for_a_day(world: World) -> None:
    day = today() + days(20)
    contract = world.offered(
        milestones=[MilestoneDraft("Half-time", Decimal("48000"), "date", due_on=day)]
    )
    (sealed,) = terms_of(contract)["milestones"]
    assert (sealed["due_on"], sealed["released_when"]) == (str(day), f"{day} is reached")


@pytest.mark.parametrize("treatment", ["reverse_charge", "exempt"])
def test_where_no_tax_is_added_the_sentence_for_the_invoice_is_sealed(
    world: World, treatment: str
) -> None:
    contract = world.offered(
        tax_treatment=treatment, tax_note=NOTE, tax_rate_percent=Decimal(0), payment_days=30
    )
    terms = terms_of(contract)
    assert terms["tax"] == {"treatment": treatment, "note": NOTE}
    assert (terms["tax_rate_percent"], terms["payment_days"]) == ("0.00", 30)


BAD_TERMS: list[tuple[dict[str, Any], str]] = [
    (
        {"tax_treatment": "exempt", "tax_note": "", "tax_rate_percent": Decimal(0)},
        "contract.tax_is_treated_one_way",
    ),
    ({"tax_treatment": "exempt", "tax_note": NOTE}, "contract.tax_is_treated_one_way"),
    ({"tax_note": NOTE}, "contract.tax_is_treated_one_way"),
    ({"tax_treatment": "magic"}, "contractversion.invalid_choice"),
    ({"payment_days": 121}, "contract.days_are_within_reason"),
    ({"dispute_days": 91}, "contract.days_are_within_reason"),
    ({"warranty_months": 0}, "contract.options_are_within_reason"),
    ({"liability_cap_percent": 50}, "contract.options_are_within_reason"),
    ({"maintenance_fee": Decimal(0)}, "contract.maintenance_fee_is_positive"),
    ({"acceptance_runs": 0}, "contract.allows_1_to_10_acceptance_runs"),
    ({"acceptance_runs": 11}, "contract.allows_1_to_10_acceptance_runs"),
    ({"noise_repeats": 6}, "contract.runs_are_within_reason"),
]


def test_terms_that_contradict_themselves_are_refused(world: World) -> None:
    engagement = world.audited()
    for changes, code in BAD_TERMS:
        with declined(code):
            contracts.draft(engagement=engagement, **world.terms(**changes))
    contract = world.drafted(engagement)
    for column, value in (("tax_treatment", "exempt"), ("tax_note", NOTE), ("dispute_days", 91)):
        with pytest.raises(IntegrityError), transaction.atomic():
            ContractVersion.objects.filter(pk=contract.pk).update(**{column: value})


def test_the_newest_texts_govern_and_are_frozen_by_their_digest(world: World) -> None:
    first = world.offered()
    sealed = terms_of(first)["text"]["clauses"]
    changed, _ = clauses.publish(slug="law", title="Law", text="Another law.", by=world.admin)
    assert changed.number == 2
    assert terms_of(first)["text"]["clauses"] == sealed
    second = terms_of(world.offered())["text"]["clauses"]
    assert [each["paragraphs"] for each in second if each["slug"] == "law"] == [["Another law."]]
    assert [each["slug"] for each in second] == [each["slug"] for each in sealed]


def test_a_draft_takes_the_newest_texts_when_it_is_revised(world: World) -> None:
    contract = world.drafted()
    kept = [row.clause for row in contract.clauses.all()]
    newer, _ = clauses.publish(slug="law", title="Newer", text="Newer.", by=world.admin)
    assert [row.clause for row in contract.clauses.all()] == kept
    contract = contracts.revise(contract=contract, **world.terms(weeks=8))
    assert newer in [row.clause for row in contract.clauses.all()]


def test_a_contract_is_sealed_only_with_law_and_court(world: World) -> None:
    contract = world.drafted(law="", court="")
    with declined("contract.law_and_court_are_named"):
        offers.offer(contract=contract, by=world.consultant)


def test_texts_are_published_by_admins_and_never_changed(world: World) -> None:
    clause, is_new = clauses.publish(slug="extra", title="Extra", text="More.", by=world.admin)
    again = clauses.publish(slug="extra", title="Extra", text=" More.\r\n", by=world.admin)
    assert is_new
    assert again == (clause, False)
    for who in (world.consultant, world.finance, world.signatory):
        with declined("clause.admins_only"):
            clauses.publish(slug="extra", title="Extra", text="Less.", by=who)
    with pytest.raises(IntegrityError), transaction.atomic():
        Clause.objects.filter(pk=clause.pk).update(text="Less.")
    with pytest.raises(IntegrityError), transaction.atomic():
        Clause.objects.filter(pk=clause.pk).delete()


def test_an_offer_is_open_until_its_last_day(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    last = today() + days(5)
    contract = world.offered(valid_until=last)
    on_day(last)
    assert offers.expiring() == []
    with declined("offer.still_open"):
        offers.expire(contract=contract)
    on_day(last + days(1))
    with declined("offer.expired"):
        world.accept(contract, Party.CUSTOMER)
    assert offers.expire(contract=contract).state == "expired"
    assert offers.expire(contract=contract).state == "expired"
    assert fresh(contract.engagement).stage == Stage.AUDITED


def test_an_offer_that_the_customer_accepted_in_time_does_not_expire(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    contract = world.offered(valid_until=today())
    world.accept(contract, Party.CUSTOMER)
    on_day(today() + days(1))
    assert offers.expiring() == []
    assert world.accept(contract, Party.CONSULTANCY).state == "accepted"


def test_nothing_is_offered_whose_last_day_has_passed(world: World) -> None:
    contract = world.drafted(valid_until=today() - days(1))
    with declined("offer.expired"):
        offers.offer(contract=contract, by=world.consultant)


def test_a_draft_is_discarded_and_its_number_given_again(world: World) -> None:
    contract = world.drafted()
    with declined("access.consultants_only"):
        contracts.discard(contract=contract, by=world.signatory)
    contracts.discard(contract=contract, by=world.consultant)
    assert world.drafted(contract.engagement).number == 1
    offered = world.offered()
    with declined("contract.sealed"):
        contracts.discard(contract=offered, by=world.consultant)


def test_a_preview_seals_the_same_and_writes_nothing(world: World) -> None:
    engagement = world.audited()
    foreseen = contracts.preview(engagement=engagement, **world.terms())
    assert not ContractVersion.objects.exists()
    assert foreseen == terms_of(world.offered(engagement))
    with declined("contract.runs_3_to_10_weeks"):
        contracts.preview(engagement=world.audited(), **world.terms(weeks=11))


def test_the_first_view_of_an_offer_is_recorded_for_each_person(world: World) -> None:
    contract = world.offered()
    for who in (world.signatory, world.viewer, world.signatory, world.consultant):
        offers.note_viewed(contract=contract, by=who)
    viewed = contract.engagement.events.filter(verb="contract.viewed")
    assert {event.actor for event in viewed} == {world.signatory, world.viewer}
    assert viewed.count() == 2


def test_every_term_is_a_column_with_a_place_in_the_sealed_json(world: World) -> None:
    columns = {column.name for column in ContractVersion._meta.fields}
    assert {each.name for each in FIELDS} <= columns
    sealed = terms_of(world.offered())
    assert {each.sealed_key for each in FIELDS if each.seal is not None} <= set(sealed)
    with pytest.raises(TypeError, match="colour"):
        world.drafted(colour="red")
