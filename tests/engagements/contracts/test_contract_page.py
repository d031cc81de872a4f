"""The contract's page: draft, seal, accept and withdraw, by several people at once."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from benchmarks.models import Benchmark
from engagements.contracts.clauses import services as clauses
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Engagement, Stage
from kernels import catalogue
from tests.engagements.sessions import sign_in
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
        "acceptance_runs": "3",
        "run_notice_days": "0",
        "noise_repeats": "2",
        "place": "house",
        "law": "Germany",
        "court": "Berlin",
        "rights": "licence",
        "publicity": "consent",
        "subcontractors": "consent",
        "warranty_months": "12",
        "liability_cap_percent": "100",
        "late_interest_points": "8",
        "non_solicitation_months": "12",
        "signing_order": "any",
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


def test_milestones_that_do_not_add_up_are_refused_and_kept_in_the_form(
    signed_in: Client, world: World
) -> None:
    engagement = world.audited()
    data = typed(world, **{"milestones-0-amount": "11999.99"})
    response = signed_in.post(url("contract-terms", engagement), data)
    page = response.content.decode()
    assert response.status_code == 422
    assert "47999.99" in page
    assert 'value="11999.99"' in page
    assert not ContractVersion.objects.exists()


INVALID = [
    ("weeks", "2"),
    ("weeks", "11"),
    ("fee", "48.000"),
    ("tax_rate_percent", "100"),
    ("starts_on", "soon"),
    ("benchmark", "999999"),
    ("milestones-1-title", ""),
    ("milestones-1-amount", "-5"),
    ("milestones-1-condition", "whenever"),
]


def test_invalid_input_has_its_error_beside_its_field(signed_in: Client, world: World) -> None:
    terms = url("contract-terms", world.audited())
    for field, value in INVALID:
        response = signed_in.post(terms, typed(world, **{field: value}))
        assert response.status_code == 422
        assert f'id="id_{field}_error"' in response.content.decode(), (field, value)


def test_incomplete_or_oversized_input_is_answered(signed_in: Client, world: World) -> None:
    terms = url("contract-terms", world.audited())
    for data in ({}, {"do": "sum"}, {"do": "remove-x"}):
        assert signed_in.post(terms, data).status_code in (200, 422)
    oversized = typed(world, **{"milestones-TOTAL_FORMS": "100000"})
    assert signed_in.post(terms, oversized).status_code == 422


def test_milestones_are_added_and_removed_and_input_is_kept(
    signed_in: Client, world: World
) -> None:
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


SUMS: list[tuple[dict[str, str], str]] = [
    ({"fee": "48000"}, "equal"),
    ({"fee": "48000.01"}, "-0.01"),
    ({"fee": "47,000.00"}, "1,000.00"),
    ({"fee": ""}, "unknown"),
    ({"milestones-1-amount": "50%", "milestones-2-amount": "50%"}, "equal"),
    ({"milestones-1-amount": "33,33%", "milestones-2-amount": "66,66%"}, "equal"),
    ({"milestones-1-amount": "33.3%", "milestones-2-amount": "33.3%"}, "-9,352.00"),
    ({"milestones-1-amount": "50%", "milestones-2-amount": "60%"}, "2,800.00"),
    ({"milestones-1-amount": "oops", "milestones-2-amount": "100%"}, "equal"),
]


def test_the_milestones_are_compared_with_the_fee_while_typing(
    signed_in: Client, world: World
) -> None:
    terms = url("contract-terms", world.audited())
    for changes, result in SUMS:
        page = signed_in.post(terms, typed(world, do="sum", **changes)).content.decode()
        assert "<html" not in page
        if result in ("equal", "unknown"):
            assert f'data-sum="{result}"' in page, changes
        else:
            wrong = "less" if result.startswith("-") else "more"
            assert f'data-sum="{wrong}"' in page
            assert result.lstrip("-") in page


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


def _calibrated(preset: str) -> dict[str, Any]:
    document = catalogue.benchmark_document(*preset.split("/"))
    times = {workload["name"]: 100.0 for workload in document["workloads"]}
    return document | {"calibration": {"baseline_us": times, "band": 0.2, "device": "A processor"}}


def test_sealing_asks_for_a_baseline_calibrated_on_the_machine(
    signed_in: Client, world: World, settings: Any
) -> None:
    settings.TWOFOLD_REQUIRED_CALIBRATION = True
    engagement, preset = world.audited(), "shared_prefix_attention/cpu"

    def seal(document: dict[str, Any] | None, chosen: str = preset) -> int:
        data: dict[str, Any] = {"preset": chosen, "target": "2.5"}
        if document is not None:
            data["calibrated"] = SimpleUploadedFile("b.json", json.dumps(document).encode())
        answer = signed_in.post(url("contract-benchmark", engagement), data)
        return answer.status_code

    assert seal(None) == 422
    assert seal(catalogue.benchmark_document(*preset.split("/"))) == 422
    assert seal(_calibrated(preset), "shared_prefix_attention/tiny") == 422
    assert seal(_calibrated(preset)) == 302
    sealed = Benchmark.objects.exclude(pk=world.benchmark.pk).get()
    assert sealed.document["calibration"]["device"] == "A processor"
    assert sealed.document["target"] == 2.5


def test_an_offer_is_sealed_once_and_shows_its_digest(signed_in: Client, world: World) -> None:
    contract = world.drafted()
    for _ in range(2):
        assert signed_in.post(url("contract-offer", contract.engagement)).status_code == 302
    contract.refresh_from_db()
    assert fresh(contract.engagement).stage == Stage.OFFERED
    page = signed_in.get(url("engagement-contract", contract.engagement)).content.decode()
    assert contract.digest in page


def test_the_consultancy_accepts_exactly_the_shown_digest(signed_in: Client, world: World) -> None:
    sign_in(signed_in, world.consultant)
    contract = world.offered()
    accept = url("contract-accept", contract.engagement)
    other = {"typed_name": "Connie", "digest": "sha256:" + "0" * 64}
    response = signed_in.post(accept, other)
    assert response.status_code == 422
    assert signed_in.post(accept, {"typed_name": " ", "digest": contract.digest}).status_code == 422
    for _ in range(2):
        signed_in.post(accept, {"typed_name": "Connie", "digest": contract.digest})
    acceptance = contract.acceptances.get()
    assert (acceptance.party, acceptance.typed_name) == (Party.CONSULTANCY, "Connie")
    assert acceptance.address == "127.0.0.1"


def test_an_offer_is_withdrawn_with_a_reason_and_drafted_again(
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
    page = signed_in.get(url("engagement-contract", contract.engagement)).content.decode()
    assert 'href="?version=1"' in page


def test_a_new_draft_takes_the_newest_clause_texts(signed_in: Client, world: World) -> None:
    contract = world.offered()
    clauses.publish(slug="law", title="Law", text="Another law.", by=world.admin)
    signed_in.post(url("contract-withdraw", contract.engagement), {"reason": "Wrong fee."})
    sent = typed(world)
    assert signed_in.post(url("contract-terms", contract.engagement), sent).status_code == 302
    drafted = contract.engagement.contracts.get(number=2)
    assert drafted.clauses.filter(clause__slug="law", clause__number=2).exists()


def test_sealed_terms_are_shown_and_not_edited(signed_in: Client, world: World) -> None:
    contract = world.active()
    page = signed_in.get(url("engagement-contract", contract.engagement)).content.decode()
    assert contract.digest in page
    assert 'method="post"' not in page.partition("<main")[2]
    late = signed_in.post(url("contract-terms", contract.engagement), typed(world, weeks="9"))
    assert late.status_code == 422


def test_before_an_audit_there_is_no_contract_to_draft(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    assert signed_in.get(url("engagement-contract", engagement)).status_code == 200
    assert signed_in.post(url("contract-terms", engagement), typed(world)).status_code == 404
    assert signed_in.post(url("contract-offer", engagement)).status_code == 404


def version_on(client: Client, engagement: Engagement) -> str:
    """The digest of the draft in the page's forms."""
    page = client.get(url("engagement-contract", engagement)).content.decode()
    found = re.search(r'name="expected_version" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def test_a_concurrently_changed_draft_must_be_reviewed_first(
    signed_in: Client, world: World
) -> None:
    engagement = world.audited()
    blank, terms = version_on(signed_in, engagement), url("contract-terms", engagement)
    assert signed_in.post(terms, typed(world, expected_version=blank)).status_code == 302
    late = signed_in.post(terms, typed(world, expected_version=blank, weeks="9"))
    assert late.status_code == 422
    page = late.content.decode()
    assert 'value="9"' in page
    assert ContractVersion.objects.get().weeks == 6
    again = version_on(signed_in, engagement)
    assert f'name="expected_version" value="{again}"' in page
    assert signed_in.post(terms, typed(world, expected_version=again, weeks="9")).status_code == 302
    assert ContractVersion.objects.get().weeks == 9


def test_an_old_page_keeps_its_version(signed_in: Client, world: World) -> None:
    engagement = world.audited()
    blank, terms = version_on(signed_in, engagement), url("contract-terms", engagement)
    signed_in.post(terms, typed(world, expected_version=blank))
    for act in ("add", "preview"):
        page = signed_in.post(terms, typed(world, expected_version=blank, do=act)).content.decode()
        assert f'name="expected_version" value="{blank}"' in page
    page = signed_in.post(terms, typed(world, expected_version=blank, weeks="2")).content.decode()
    assert f'name="expected_version" value="{blank}"' in page


@pytest.mark.parametrize("act", ["contract-offer", "contract-discard"])
def test_a_changed_draft_is_reviewed_before_it_is_sealed_or_discarded(
    signed_in: Client, world: World, act: str
) -> None:
    contract = world.drafted()
    old = version_on(signed_in, contract.engagement)
    signed_in.post(
        url("contract-terms", contract.engagement), typed(world, weeks="9", expected_version=old)
    )
    refused = signed_in.post(url(act, contract.engagement), {"expected_version": old})
    assert refused.status_code == 422
    assert ContractVersion.objects.get().state == ContractVersion.State.DRAFT
    new = version_on(signed_in, contract.engagement)
    assert (
        signed_in.post(url(act, contract.engagement), {"expected_version": new}).status_code == 302
    )


def test_the_version_that_was_shown_is_withdrawn_and_not_a_later_one(
    signed_in: Client, world: World
) -> None:
    contract = world.offered()
    withdraw = url("contract-withdraw", contract.engagement)
    first = {"reason": "The fee was wrong.", "version": "1"}
    signed_in.post(withdraw, first)
    signed_in.post(url("contract-terms", contract.engagement), typed(world))
    signed_in.post(url("contract-offer", contract.engagement))
    signed_in.post(withdraw, first)
    states = contract.engagement.contracts.values_list("number", "state")
    assert dict(states) == {1: "withdrawn", 2: "offered"}
