"""Every route of the API: people see their own rows, and another customer's people none."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import URLPattern

from engagements.api.urls import RESOURCES, router
from engagements.billing.models import Invoice
from engagements.documents.models import Document
from engagements.evidence.models import Evidence
from engagements.ledger.models import Entry
from engagements.notifications.webhooks import services as webhooks
from engagements.settlements.models import Settlement
from tests.engagements.api_program import Program
from tests.engagements.world import World

STAFF_ONLY = {"evidence", "entries"}
# Managed by signatories: tested with the webhooks themselves.
MANAGED = {"webhooks", "webhook-deliveries"}


@pytest.fixture
def rows(world: World) -> dict[str, Any]:
    """A row of each resource, of an engagement whose target was missed; keys as in its URLs."""
    settlement = world.settlement()
    contract = settlement.contract_version
    engagement = contract.engagement
    Settlement.objects.filter(pk=settlement.pk).update(
        state="approved", approved_by=world.controller, approved_at=settlement.proposed_at
    )
    file = {"digest": "sha256:" + "0" * 64, "size_bytes": 4, "engagement": engagement}
    document = Document.objects.create(
        kind="contract", subject="contract:0", title="Contract", content=b"%PDF", **file
    )
    evidence = Evidence.objects.create(name="calls.csv", added_by_name="Connie", **file)
    webhook = webhooks.create(
        url="https://example.com/", topics=["runs"], customer=world.customer, by=world.signatory
    )
    event = engagement.events.filter(for_customer=True)[0]
    run = engagement.runs.get()
    invoice = Invoice.objects.filter(engagement=engagement, payments__isnull=False)[0]
    return {
        "customers": engagement.customer_id,
        "engagements": engagement.reference,
        "audits": engagement.audit.pk,
        "evidence": evidence.pk,
        "benchmarks": contract.benchmark_id,
        "candidates": run.run.solution_id,
        "runs": run.pk,
        "records": run.run.record.pk,
        "contracts": contract.pk,
        "milestones": contract.milestones.all()[0].pk,
        "invoices": invoice.pk,
        "payments": invoice.payments.all()[0].pk,
        "settlements": settlement.pk,
        "documents": document.pk,
        "entries": Entry.objects.filter(engagement=engagement)[0].pk,
        "webhooks": webhook.pk,
        "webhook-deliveries": webhook.deliveries.create(event=event).pk,
    }


def details(rows: dict[str, Any]) -> list[tuple[str, str]]:
    """Every route of one row, as (resource, path), with the row's key."""
    found = []
    for pattern in router.urls:
        assert isinstance(pattern, URLPattern)
        route = str(pattern.pattern).strip("^$")
        if "(?P<" in route:
            name, _, after = route.partition("/")
            tail = after.partition("/")[2]
            found.append((name, f"{name}/{rows[name]}/{tail}"))
    return found


def test_every_resource_is_in_the_table(rows: dict[str, Any]) -> None:
    assert rows.keys() == RESOURCES.keys()
    assert len(details(rows)) > len(rows)


def test_another_customers_people_get_404_and_empty_lists(
    world: World, rows: dict[str, Any]
) -> None:
    stranger = Program(world.stranger)
    for name, path in details(rows):
        answers = {stranger.get(path).status_code, stranger.post(path).status_code}
        assert answers <= {404, 405}, (path, answers)
        assert 404 in answers, path
        listed = stranger.get(f"{name}/")
        if name in STAFF_ONLY:
            assert listed.status_code == 404, name
        else:
            keys = [
                row.get("reference" if name == "engagements" else "id")
                for row in listed.json()["results"]
            ]
            assert rows[name] not in keys, name
    engagement = {"engagement": rows["engagements"]}
    for name, resource in RESOURCES.items():
        if "engagement" not in resource.filterset_class.base_filters:
            continue
        assert stranger.get(f"{name}/", engagement).status_code == 404, name
    for name, body in {
        "candidates": {"operator": "a", "filename": "a.py", "source": "def run(): ..."},
        "runs": {**engagement, "candidate": rows["candidates"], "purpose": "trial"},
        "settlements": {"contract": rows["contracts"], "reason": "missed"},
    }.items():
        assert stranger.post(f"{name}/", body).status_code == 404, name


def test_members_read_their_own_rows_and_staff_all(world: World, rows: dict[str, Any]) -> None:
    member, staff = Program(world.viewer), Program(world.finance)
    for name, path in details(rows):
        if path.endswith(("/offer/", "/content/")) or name in MANAGED:
            continue
        assert staff.get(path).status_code == 200, path
        assert member.get(path).status_code == (404 if name in STAFF_ONLY else 200), path


def test_customers_see_no_work_in_progress(world: World) -> None:
    contract = world.drafted()
    member = Program(world.signatory)
    assert member.rows("contracts/") == []
    assert member.get(f"contracts/{contract.pk}/").status_code == 404
    assert member.rows("milestones/") == []
    active = world.active()
    trial = world.request(active, "trial")
    assert member.rows("runs/") == []
    assert member.get(f"runs/{trial.pk}/").status_code == 404
    invoice = world.invoice(active.milestones.all()[0])
    Document.objects.create(
        engagement=active.engagement,
        kind="contract",
        subject="contract:0",
        title="Internal",
        content=b"%PDF",
        size_bytes=4,
        digest="sha256:" + "0" * 64,
        for_customer=False,
    )
    assert [row["id"] for row in member.rows("invoices/")] == [invoice.pk]
    assert member.rows("documents/") == []


def test_a_proposed_settlement_is_hidden_until_it_is_approved(world: World) -> None:
    settlement = world.settlement()
    assert Program(world.signatory).rows("settlements/") == []
    (listed,) = Program(world.finance).rows("settlements/")
    assert (listed["id"], listed["state"]) == (settlement.pk, "proposed")


def test_customers_do_not_read_why_a_run_failed(world: World) -> None:
    asked = world.request(world.active())
    world.conclude(asked, "failed")
    assert Program(world.viewer).get(f"runs/{asked.pk}/").json()["failure_reason"] == ""
    staff = Program(world.consultant).get(f"runs/{asked.pk}/").json()
    assert "out of memory" in staff["failure_reason"]
