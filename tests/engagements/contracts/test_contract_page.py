"""The contract's page: drafted with milestones that add up, sealed, accepted, withdrawn."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.models import Benchmark
from engagements.contracts.clauses import services as clauses
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Engagement, Stage
from tests.engagements.signing_in import as_just_signed_in
from tests.engagements.world import MILESTONES, World, fresh, today

pytestmark = pytest.mark.django_db


def url(name: str, engagement: Engagement) -> str:
    return reverse(name, args=[engagement.reference])


def typed(world: World, **changes: str) -> dict[str, Any]:
    """The form as it is sent."""
    data = {
        "benchmark": str(world.benchmark.pk),
        "fee": "48,000.00",
        "audit_cost": "6000.00",
        "tax_rate_percent": "19",
        "tax_treatment": "rate",
        "payment_days": "14",
        "dispute_days": "14",
        "refund_days": "14",
        "weeks": "6",
        "starts_on": today().isoformat(),
        "inconclusive": "missed",
        "milestones-TOTAL_FORMS": str(len(MILESTONES)),
        "milestones-INITIAL_FORMS": "0",
        "do": "save",
    }
    for row, (title, amount, condition) in enumerate(MILESTONES):
        data[f"milestones-{row}-title"] = title
        data[f"milestones-{row}-amount"] = f"{amount:.2f}"
        data[f"milestones-{row}-condition"] = condition
    return data | changes


def test_a_draft_is_saved_and_saved_again(signed_in: Client, world: World) -> None:
    engagement = world.audited()
    assert signed_in.post(url("contract-terms", engagement), typed(world)).status_code == 302
    signed_in.post(url("contract-terms", engagement), typed(world, weeks="8"))
    contract = ContractVersion.objects.get()
    assert (contract.number, contract.weeks, contract.fee) == (1, 8, Decimal(48000))
    assert contract.milestones.count() == 4
    assert contract.target == Decimal(2)


def test_milestones_that_do_not_add_up_are_refused_with_both_sums(
    signed_in: Client, world: World
) -> None:
    engagement = world.audited()
    data = typed(world, **{"milestones-0-amount": "11999.99"})
    response = signed_in.post(url("contract-terms", engagement), data)
    page = response.content.decode()
    assert response.status_code == 422
    assert "add up to 47999.99" in page
    assert 'value="11999.99"' in page
    assert not ContractVersion.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("weeks", "2", "greater than or equal to 3"),
        ("weeks", "11", "less than or equal to 10"),
        ("fee", "48.000", "could be 48000 or 48.000"),
        ("tax_rate_percent", "100", "less than or equal to 99.99"),
        ("starts_on", "soon", "Enter a day as in"),
        ("benchmark", "999999", "valid choice"),
        ("milestones-1-title", "", "This field is required"),
        ("milestones-1-amount", "-5", "greater than nothing"),
        ("milestones-1-condition", "whenever", "valid choice"),
    ],
)
def test_what_cannot_be_read_is_said_beside_its_field(
    signed_in: Client, world: World, field: str, value: str, said: str
) -> None:
    engagement = world.audited()
    response = signed_in.post(url("contract-terms", engagement), typed(world, **{field: value}))
    page = response.content.decode()
    assert response.status_code == 422
    assert said in page
    assert f'id="id_{field}_error"' in page


def test_a_form_that_was_cut_short_is_no_crash(signed_in: Client, world: World) -> None:
    engagement = world.audited()
    for data in ({}, {"do": "save"}, {"do": "sum"}, {"do": "add"}, {"do": "remove-x"}):
        assert signed_in.post(url("contract-terms", engagement), data).status_code in (200, 422)
    huge = typed(world, **{"milestones-TOTAL_FORMS": "100000"})
    assert signed_in.post(url("contract-terms", engagement), huge).status_code == 422


def test_rows_come_and_go_and_nothing_typed_is_lost(signed_in: Client, world: World) -> None:
    engagement = world.audited()
    added = signed_in.post(url("contract-terms", engagement), typed(world, do="add", fee="oops"))
    page = added.content.decode()
    assert 'name="milestones-4-title"' in page
    assert 'value="oops"' in page
    removed = signed_in.post(url("contract-terms", engagement), typed(world, do="remove-0"))
    page = removed.content.decode()
    assert 'name="milestones-3-title"' not in page
    assert 'value="Signature"' not in page
    assert not ContractVersion.objects.exists()


@pytest.mark.parametrize(
    ("second", "third", "said"),
    [
        ("50%", "50%", "Exactly the fee"),
        ("33,33%", "66,66%", "Exactly the fee"),
        ("33.3%", "33.3%", "9,352.00 less than the fee"),
        ("50%", "60%", "2,800.00 more than the fee"),
        ("oops", "100%", "Exactly the fee"),
    ],
)
def test_the_sum_of_shares_is_what_they_come_to(
    signed_in: Client, world: World, second: str, third: str, said: str
) -> None:
    parts = {"milestones-1-amount": second, "milestones-2-amount": third}
    answer = signed_in.post(url("contract-terms", world.audited()), typed(world, do="sum", **parts))
    assert said in answer.content.decode()


@pytest.mark.parametrize(
    ("fee", "said"),
    [
        ("48000", "Exactly the fee"),
        ("48000.01", "0.01 less than the fee"),
        ("47,000.00", "1,000.00 more than the fee"),
        ("", "Enter the fee"),
    ],
)
def test_the_sum_is_told_while_typing(signed_in: Client, world: World, fee: str, said: str) -> None:
    engagement = world.audited()
    response = signed_in.post(url("contract-terms", engagement), typed(world, do="sum", fee=fee))
    assert said in response.content.decode()
    assert "<html" not in response.content.decode()


def test_a_benchmark_of_the_catalogue_is_sealed_with_its_target(
    signed_in: Client, world: World
) -> None:
    engagement = world.audited()
    data = {"preset": "shared_prefix_attention/cpu", "target": "2.5"}
    for _ in range(2):
        assert signed_in.post(url("contract-benchmark", engagement), data).status_code == 302
    sealed = Benchmark.objects.exclude(pk=world.benchmark.pk).get()
    assert sealed.document["target"] == 2.5
    wrong = {"preset": "shared_prefix_attention/tpu", "target": "2"}
    assert signed_in.post(url("contract-benchmark", engagement), wrong).status_code == 422


def test_an_offer_is_sealed_once_and_shows_its_digest(signed_in: Client, world: World) -> None:
    contract = world.drafted()
    for _ in range(2):
        assert signed_in.post(url("contract-offer", contract.engagement)).status_code == 302
    contract.refresh_from_db()
    assert fresh(contract.engagement).stage == Stage.OFFERED
    page = signed_in.get(url("engagement-contract", contract.engagement)).content.decode()
    assert contract.digest in page


def test_the_house_accepts_exactly_the_digest_it_was_shown(signed_in: Client, world: World) -> None:
    as_just_signed_in(signed_in, world.consultant)
    contract = world.offered()
    accept = url("contract-accept", contract.engagement)
    other = {"typed_name": "Connie", "digest": "sha256:" + "0" * 64}
    response = signed_in.post(accept, other)
    assert response.status_code == 422
    assert "not the terms that were sealed" in response.content.decode()
    assert signed_in.post(accept, {"typed_name": " ", "digest": contract.digest}).status_code == 422
    for _ in range(2):
        signed_in.post(accept, {"typed_name": "Connie C", "digest": contract.digest})
    acceptance = contract.acceptances.get()
    assert (acceptance.party, acceptance.typed_name) == (Party.CONSULTANCY, "Connie C")
    assert acceptance.address == "127.0.0.1"


def test_an_offer_is_withdrawn_with_a_reason_and_drafted_anew(
    signed_in: Client, world: World
) -> None:
    contract = world.offered()
    withdraw = url("contract-withdraw", contract.engagement)
    assert signed_in.post(withdraw, {"reason": ""}).status_code == 422
    assert signed_in.post(withdraw, {"reason": "The fee was wrong."}).status_code == 302
    assert fresh(contract.engagement).stage == Stage.AUDITED
    signed_in.post(url("contract-terms", contract.engagement), typed(world, weeks="9"))
    newest = contract.engagement.contracts.first()
    assert newest is not None
    assert (newest.number, newest.weeks) == (2, 9)
    page = url("engagement-contract", contract.engagement)
    assert "Version 1" in signed_in.get(page).content.decode()


def test_a_version_is_drafted_anew_with_the_newest_number_of_its_texts(
    signed_in: Client, world: World
) -> None:
    contract = world.offered()
    clauses.publish(slug="law", title="Law", text="Another law.", by=world.admin)
    signed_in.post(url("contract-withdraw", contract.engagement), {"reason": "Wrong fee."})
    page = signed_in.get(url("engagement-contract", contract.engagement)).content.decode()
    checked = re.findall(r'name="governed_by" value="(\d+)"[^>]*checked', page)
    newest = clauses.newest()
    assert {int(pk) for pk in checked} == {clause.pk for clause in newest}
    sent = typed(world) | {"governed_by": checked}
    assert signed_in.post(url("contract-terms", contract.engagement), sent).status_code == 302
    drafted = contract.engagement.contracts.get(number=2)
    assert drafted.clauses.filter(clause__slug="law", clause__number=2).exists()


def test_sealed_terms_are_shown_and_not_edited(signed_in: Client, world: World) -> None:
    contract = world.active()
    page = signed_in.get(url("engagement-contract", contract.engagement)).content.decode()
    assert "Promise" in page
    assert 'method="post"' not in page.partition("<main")[2]
    late = signed_in.post(url("contract-terms", contract.engagement), typed(world, weeks="9"))
    assert late.status_code == 422


def test_before_an_audit_there_is_no_contract_to_draft(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    page = signed_in.get(url("engagement-contract", engagement))
    assert "No contract yet" in page.content.decode()
    assert signed_in.post(url("contract-terms", engagement), typed(world)).status_code == 404
    assert signed_in.post(url("contract-offer", engagement)).status_code == 404
