"""A passing audit drafts its contract: the traffic's shapes, the closest baseline, its target."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engagements.audit import contract_basis, subjects
from engagements.audit import rules as checks
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.common.errors import ApplicationError
from engagements.contracts import first_drafts
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire
from tests.engagements.audit.cases import LLAMA_32K
from tests.engagements.audit.test_findings import DECODE, TRAFFIC, keep
from tests.engagements.world import World, fresh, today


def passed(world: World, **work: Any) -> Engagement:
    """An audit of the decode step that passes by its evidence."""
    audit = world.auditing()
    by = world.consultant
    for name, content in ((DECODE.name, DECODE.read_bytes()), ("shapes.csv", TRAFFIC.encode())):
        keep(world, audit, name, content)
    said: tuple[tuple[str, dict[str, Any]], ...] = (
        ("roadmap", {"models": []}),
        ("maintainers", {"people": [{"name": "Kernels", "hours_a_month": 20}]}),
    )
    for question, value in said:
        questionnaire.record(
            engagement=audit.engagement,
            question=question,
            value=value,
            answered_by="Sigrid",
            answered_on=today(),
            by=by,
        )
    subjects.set_needs(audit=audit, needs=LLAMA_32K, by=by)
    usual: dict[str, Any] = {"weeks": 5.5, "fee": Decimal(48_000), "currency": "EUR"}
    subjects.set_work(audit=audit, work=checks.Work(**usual | work), by=by)
    audits.deliver(audit=Audit.objects.get(pk=audit.pk), by=by)
    return fresh(audit.engagement)


def test_one_call_drafts_the_whole_contract(world: World) -> None:
    engagement = passed(world)
    assert contract_basis.hindrance(engagement.audit) is None
    contract = first_drafts.from_audit(engagement=engagement, by=world.consultant)
    assert contract.state == ContractVersion.State.DRAFT
    assert (contract.fee, contract.audit_cost, contract.weeks) == (48_000, 6_000, 6)
    assert (contract.target, contract.starts_on.weekday()) == (Decimal(2), 0)
    parts = contract.milestones.order_by("position").values_list("condition", "amount")
    assert dict(parts) == {
        "signed": Decimal(14_700),
        "audit_delivered": Decimal(6_000),
        "target_met": Decimal(18_900),
        "handover": Decimal(8_400),
    }


def test_its_benchmark_is_the_traffic_on_the_gpu_that_was_profiled(world: World) -> None:
    contract = first_drafts.from_audit(engagement=passed(world), by=world.consultant)
    document = contract.benchmark.document
    assert document["operator"] == "shared_prefix_attention"
    assert document["hardware"]["name"] == "NVIDIA H200"
    assert document["baseline"]["package"] == "flashinfer-python"
    assert [load["weight"] for load in document["workloads"]] == [0.5, 0.5]
    assert {load["axes"]["batch"] for load in document["workloads"]} == {16, 32}
    assert {load["axes"]["own_len"] for load in document["workloads"]} == {256}
    assert document["target"] == 2.0


def test_a_second_draft_is_refused_while_one_is_open(world: World) -> None:
    engagement = passed(world)
    first_drafts.from_audit(engagement=engagement, by=world.consultant)
    with pytest.raises(ApplicationError, match="Another version"):
        first_drafts.from_audit(engagement=engagement, by=world.consultant)


def test_what_the_work_takes_must_be_known(world: World) -> None:
    engagement = passed(world, fee=None, currency=None)
    with pytest.raises(ApplicationError, match="its weeks and its fee"):
        first_drafts.from_audit(engagement=engagement, by=world.consultant)


def test_the_fee_is_in_the_audit_s_currency(world: World) -> None:
    engagement = passed(world, currency="USD")
    assert "USD" in (contract_basis.hindrance(engagement.audit) or "")


def test_an_audit_by_hand_is_drafted_by_hand(world: World) -> None:
    engagement = world.audited()
    with pytest.raises(ApplicationError, match="weeks and its fee"):
        first_drafts.from_audit(engagement=engagement, by=world.consultant)


def test_only_a_consultant_drafts(world: World) -> None:
    engagement = passed(world)
    with pytest.raises(ApplicationError, match="Consultants"):
        first_drafts.from_audit(engagement=engagement, by=world.signatory)
