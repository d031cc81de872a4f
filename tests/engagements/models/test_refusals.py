"""What is sealed, delivered, paid or history, the database itself refuses to change."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.utils import timezone

from engagements.audit import services as audits
from engagements.billing import invoices
from engagements.billing.payment_models import Payment
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.signing_models import Acceptance
from engagements.documents.models import Document
from tests.database_constraints import accepted_columns, delete, violates, write
from tests.engagements.world import World, today

DIGEST = "sha256:" + "1" * 64


def columns_of(row: models.Model) -> set[str]:
    return {field.name for field in row._meta.concrete_fields} - {"id"}


def kept(world: World, kind: str) -> models.Model:
    """A row of history of this kind."""
    contract = world.active()
    if kind == "event":
        event = contract.engagement.events.first()
        assert event is not None
        return event
    if kind == "acceptance":
        return contract.acceptances.all()[0]
    if kind == "payment":
        milestone = contract.milestones.get(position=1)
        world.pay(milestone)
        return Payment.objects.get()
    return Document.objects.create(
        engagement=contract.engagement,
        kind=Document.Kind.CONTRACT,
        subject=f"contract:{contract.pk}",
        title="Contract",
        filename="contract.pdf",
        content=b"%PDF-",
        size_bytes=5,
        digest=DIGEST,
    )


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("event", {"summary": "Nothing happened."}),
        ("acceptance", {"typed_name": "Somebody else"}),
        ("payment", {"amount": 1}),
        ("document", {"content": b"%PDF-2"}),
    ],
)
def test_history_is_neither_changed_nor_deleted(
    world: World, kind: str, change: dict[str, Any]
) -> None:
    row = kept(world, kind)
    with violates(f"{kind}.append_only"):
        write(row, **change)
    with violates(f"{kind}.append_only"):
        delete(row)


def test_no_column_of_sealed_terms_changes_but_what_became_of_them(world: World) -> None:
    contract, other = world.offered(), world.scoping()
    later = timezone.now() + timedelta(days=1)
    changes = {
        "engagement": other,
        "number": 9,
        "benchmark": contract.benchmark_id + 1,
        "fee": Decimal(1),
        "audit_cost": Decimal(0),
        "currency": "USD",
        "tax_rate_percent": Decimal(7),
        "tax_treatment": "exempt",
        "tax_note": "Exempt.",
        "payment_days": 30,
        "dispute_days": 30,
        "refund_days": 30,
        "valid_until": today() + timedelta(days=1),
        "signatory": world.signatory,
        "amends": contract,
        "amendment": "price",
        "amendment_reason": "So.",
        "previously_released": Decimal(1),
        "weeks": 8,
        "starts_on": today() + timedelta(days=1),
        "target": Decimal("1.5"),
        "inconclusive": "repeat",
        "acceptance_runs": 5,
        "run_notice_days": 2,
        "noise_repeats": 0,
        "place": "customer",
        "expert": "Prof. Gauge",
        "excluded_library": "FlashInfer",
        "exclusion_reason": "Another cache.",
        "law": "France",
        "court": "Paris",
        "rights": "assignment",
        "affiliates": False,
        "sublicensing": True,
        "warranty_months": 6,
        "maintenance_fee": Decimal(1),
        "liability_cap_percent": 200,
        "convenience": False,
        "personal_data": True,
        "subcontractors": "notice",
        "non_solicitation_months": 0,
        "signing_order": "customer",
        "publicity": "none",
        "late_interest_points": Decimal(5),
        "special_terms": "More.",
        "drafted_by": world.finance,
        "created_at": later,
        "canonical": b"{}",
        "digest": DIGEST,
        "sealed_at": later,
    }
    assert set(changes) == columns_of(contract) - {"state"}
    assert accepted_columns(contract, changes, "contractversion.sealed") == set()
    with violates("contractversion.sealed_deletion"):
        delete(contract)


def test_a_draft_may_still_be_changed(world: World) -> None:
    contract = world.drafted()
    write(contract, weeks=8)
    write(contract.milestones.get(position=1), title="On signature")


def test_no_milestone_of_a_sealed_contract_changes_but_what_became_of_it(world: World) -> None:
    contract, other = world.offered(), world.drafted()
    milestone = contract.milestones.get(position=1)
    changes = {
        "contract_version": other,
        "position": 9,
        "title": "Something else",
        "amount": Decimal(1),
        "condition": "handover",
        "share": Decimal(1),
        "due_on": today(),
    }
    progress = {"state", "released_at", "billed_at", "billing_reference"}
    assert set(changes) == columns_of(milestone) - progress
    code = "contract.sealed_parts"
    assert accepted_columns(milestone, changes, code) == set()
    with violates(code):
        delete(milestone)
    with violates(code):
        Milestone.objects.create(
            contract_version=contract, position=9, title="One more", amount=1, condition="signed"
        )


def test_terms_are_sealed_only_with_milestones_that_add_up_to_the_fee(world: World) -> None:
    contract = world.drafted()
    write(contract.milestones.get(position=1), amount=Decimal("11999"))
    with violates("contract.milestones_add_up"):
        write(contract, state="offered", sealed_at=timezone.now(), digest=DIGEST, canonical=b"{}")
        # What else waits for the end of the transaction.
        connection.check_constraints()


def test_what_a_settlement_was_proposed_with_is_never_changed(world: World) -> None:
    settlement, other = world.settlement(), world.offered()
    changes = {
        "contract_version": other,
        "reason": "time_box",
        "currency": "USD",
        "payments_received": Decimal(1),
        "audit_cost": Decimal(1),
        "audit_tax": Decimal(1),
        "refund": Decimal(1),
        "balance_due": Decimal(1),
        "proposed_by": world.finance,
        "proposed_at": timezone.now() - timedelta(days=1),
    }
    assert accepted_columns(settlement, changes, "settlement.proposal") == set()
    with violates("settlement.deletion"):
        delete(settlement)


@pytest.mark.parametrize("which", ["a draft", "another digest", "withdrawn"])
def test_only_the_terms_on_offer_are_accepted_and_by_their_own_digest(
    world: World, which: str
) -> None:
    contract = world.drafted() if which == "a draft" else world.offered()
    if which == "withdrawn":
        write(contract, state="withdrawn")
    with violates("acceptance.offered"):
        Acceptance.objects.create(
            contract_version=contract,
            party="customer",
            user=world.signatory,
            typed_name="Sigrid",
            consent="Yes.",
            digest=DIGEST if which == "another digest" else contract.digest,
        )


def test_a_delivered_audit_is_never_changed(world: World) -> None:
    audit = world.audited().audit
    for change in (
        {"cost": 1},
        {"currency": "USD"},
        {"outcome": "decline"},
        {"delivered_at": None},
    ):
        with violates("audit.delivered"):
            write(audit, **change)
    with violates("audit.delivered"):
        delete(audit)


def test_the_findings_of_a_delivered_audit_are_never_changed(world: World) -> None:
    audit = world.audited().audit
    finding = audit.findings.get(check_name="hot")
    code = "finding.delivered"
    with violates(code):
        write(finding, outcome="fail")
    with violates(code):
        delete(finding)
    with violates(code):
        audit.findings.create(check_name="hot")


def test_findings_may_change_until_the_audit_is_delivered(world: World) -> None:
    audit = world.auditing()
    write(audit.findings.get(check_name="hot"), value="3%")
    world.answer(audit, *["pass"] * 6)
    assert audits.deliver(audit=audit, by=world.consultant).delivered_at


def test_nothing_is_paid_that_was_not_billed(world: World) -> None:
    milestone = world.active().milestones.get(position=1)
    drafted = invoices.draft(milestones=[milestone], by=world.finance)
    with violates("payment.invoice"):
        Payment.objects.create(
            invoice=drafted,
            amount=1,
            received_on=today(),
            reference="P-1",
            recorded_by=world.finance,
        )


def test_refusals_write_ratios_as_every_page_does() -> None:
    rows = apps.get_app_config("engagements").get_models()
    said = [str(each.violation_error_message) for row in rows for each in row._meta.constraints]
    assert "Enter a target above 1×." in said
    assert [text for text in said if re.search(r"\dx\b", text)] == []
