"""A contract drafted from a passing audit has its shapes, baseline and target."""

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
from tests.engagements.audit.inputs import LLAMA_32K
from tests.engagements.audit.test_findings import DECODE, TRAFFIC, keep
from tests.engagements.world import World, fresh, today
from tests.errors import declined


def passed(world: World, **work: Any) -> Engagement:
    """An audit of the decode step that passes by its evidence."""
    audit = world.auditing()
    by = world.consultant
    for name, content in ((DECODE.name, DECODE.read_bytes()), ("shapes.csv", TRAFFIC.encode())):
        keep(world, audit.engagement, name, content)
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
    world.override(audit, "off_the_shelf", "pass")
    audits.deliver(audit=Audit.objects.get(pk=audit.pk), by=by)
    return fresh(audit.engagement)


def test_a_passing_audit_is_drafted_once_by_a_consultant(world: World) -> None:
    engagement = passed(world)
    assert contract_basis.blocking_reason(engagement.audit) is None
    with declined("access.consultants_only"):
        first_drafts.from_audit(engagement=engagement, by=world.signatory)
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
    document = contract.benchmark.document
    assert document["operator"] == "shared_prefix_attention"
    assert document["hardware"]["name"] == "NVIDIA H200"
    assert document["baseline"]["package"] == "flashinfer-python"
    assert [load["weight"] for load in document["workloads"]] == [0.5, 0.5]
    assert {load["axes"]["batch"] for load in document["workloads"]} == {16, 32}
    assert {load["axes"]["own_len"] for load in document["workloads"]} == {256}
    assert document["target"] == 2.0
    with declined("contract.version_open"):
        first_drafts.from_audit(engagement=engagement, by=world.consultant)


def test_an_audit_without_weeks_and_fee_in_its_currency_is_not_drafted(world: World) -> None:
    for engagement in (passed(world, fee=None, currency=None), world.audited()):
        with pytest.raises(ApplicationError):
            first_drafts.from_audit(engagement=engagement, by=world.consultant)
    assert contract_basis.blocking_reason(passed(world, currency="USD").audit) is not None
