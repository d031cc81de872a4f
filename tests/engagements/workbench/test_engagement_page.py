"""The engagement's page in every stage, and the two ways in which a person ends it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements import closing
from engagements.audit import services as audits
from engagements.contracts.models import Party
from engagements.engagement.models import Engagement, Stage
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.workbench.next_step import FINANCE, NOBODY, US
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def page_of(client: Client, engagement: Engagement) -> str:
    response = client.get(reverse("engagement", args=[engagement.reference]))
    assert response.status_code == 200
    return response.content.decode()


def next_of(client: Client, engagement: Engagement) -> Any:
    """The next step that the engagement's page shows."""
    return client.get(reverse("engagement", args=[engagement.reference])).context["next"]


@pytest.mark.parametrize(
    ("made", "who", "leads_to"),
    [
        ("scoping", US, "engagement-audit"),
        ("audited", US, "engagement-contract"),
        ("drafted", US, "engagement-contract"),
        ("offered", US, "engagement-contract"),
        ("active", US, "run-request"),
        ("met", US, "engagement-contract"),
        ("missed", FINANCE, None),
    ],
)
def test_the_page_names_and_links_the_next_step(
    client: Client, world: World, made: str, who: str, leads_to: str | None
) -> None:
    row = getattr(world, made)()
    engagement = row if isinstance(row, Engagement) else row.engagement
    client.force_login(world.consultant)
    step = next_of(client, engagement)
    assert step.who_label == who
    if leads_to:
        assert step.url == reverse(leads_to, args=[engagement.reference])


def test_late_payments_are_refunded_before_closing_is_suggested(
    client: Client, world: World
) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.finance)
    settled = settlement.contract_version.engagement
    bill = settled.invoices.filter(kind="invoice").order_by("pk")[0]
    client.force_login(world.consultant)
    assert next_of(client, settled).post == reverse("engagement-close", args=[settled.reference])
    world.paid_beyond(bill, Decimal(119), "late")
    overpaid = world.met_paid_and_overpaid(Decimal(119))
    for engagement in (settled, overpaid.engagement):
        assert next_of(client, engagement).who_label == FINANCE


def test_after_the_consultancys_acceptance_the_customer_is_next(
    client: Client, world: World
) -> None:
    contract = world.offered()
    world.accept(contract, Party.CONSULTANCY)
    client.force_login(world.consultant)
    assert next_of(client, contract.engagement).who_label == "Longprompt AG"


def test_a_run_under_way_is_what_is_waited_for(client: Client, world: World) -> None:
    contract = world.active()
    asked = world.request(contract)
    client.force_login(world.consultant)
    page = page_of(client, contract.engagement)
    assert reverse("run", args=[contract.engagement.reference, asked.pk]) in page


@pytest.mark.parametrize("passes", [3, 1])
def test_an_engagement_that_ends_with_its_audit_waits_for_its_payment_only(
    client: Client, world: World, passes: int
) -> None:
    audit = world.answer(world.auditing(), *["pass"] * passes, *["fail"] * (6 - passes))
    delivered = audits.deliver(audit=audit, by=world.consultant)
    client.force_login(world.consultant)
    assert next_of(client, audit.engagement).who_label == FINANCE
    audits.waive(audit=delivered, reason="Billed outside.", by=world.finance)
    assert next_of(client, audit.engagement).who_label == NOBODY


def test_a_cancelled_engagement_shows_its_last_stage(client: Client, world: World) -> None:
    contract = world.offered()
    closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)
    client.force_login(world.consultant)
    page = page_of(client, contract.engagement)
    assert 'Offered<span class="visually-hidden">, done</span>' in page


@pytest.mark.parametrize("passed", [3, 1, None])
def test_what_ended_before_a_contract_waits_for_none(
    client: Client, world: World, passed: int | None
) -> None:
    engagement = world.scoping()
    if passed is None:
        closing.cancel(engagement=engagement, reason="Sold.", by=world.consultant)
    else:
        audit = world.auditing(engagement=engagement)
        world.answer(audit, *["pass"] * passed, *["unknown"] * (6 - passed))
        audits.deliver(audit=audit, by=world.consultant)
    client.force_login(world.consultant)
    contract = reverse("engagement-contract", args=[engagement.reference])
    for page in (page_of(client, engagement), client.get(contract).content.decode()):
        assert "No contract yet" not in page
    shown = page_of(client, engagement)
    assert shown.count('id="empty-title"') == 1
    assert " yet." not in shown[shown.index('id="empty-title"') :]


def test_what_is_empty_is_one_sentence(client: Client, world: World) -> None:
    engagement = world.scoping()
    client.force_login(world.consultant)
    page = page_of(client, engagement)
    assert page.count('id="empty-title"') == 1
    for name in ("audit", "contract", "runs", "documents"):
        assert f'id="{name}-title"' not in page
    for name in ("engagement-audit", "engagement-evidence", "engagement-workbench"):
        assert reverse(name, args=[engagement.reference]) in page
    assert 'id="contract-title"' in page_of(client, world.active().engagement)


def test_cancelling_wants_a_reason(client: Client, world: World) -> None:
    engagement = world.scoping()
    client.force_login(world.consultant)
    url = reverse("engagement-cancel", args=[engagement.reference])
    response = client.post(url, {"reason": "  "})
    assert response.status_code == 422
    engagement.refresh_from_db()
    assert engagement.stage == Stage.SCOPING


def test_cancelled_with_a_reason_it_is_over(client: Client, world: World) -> None:
    engagement = world.scoping()
    client.force_login(world.consultant)
    url = reverse("engagement-cancel", args=[engagement.reference])
    assert client.post(url, {"reason": "They bought a faster card."}).status_code == 302
    engagement.refresh_from_db()
    assert engagement.stage == Stage.CANCELLED
    assert "They bought a faster card." in page_of(client, engagement)
    assert client.post(url, {"reason": "Again."}).status_code == 302


def test_what_has_received_money_is_not_cancelled_and_the_reason_stays_typed(
    client: Client, world: World
) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    client.force_login(world.consultant)
    url = reverse("engagement-cancel", args=[contract.engagement.reference])
    response = client.post(url, {"reason": "Lost interest."})
    page = response.content.decode()
    assert response.status_code == 422
    assert "Lost interest." in page


def test_closing_is_refused_with_what_is_still_open(client: Client, world: World) -> None:
    contract = world.met()
    client.force_login(world.consultant)
    url = reverse("engagement-close", args=[contract.engagement.reference])
    response = client.post(url)
    assert response.status_code == 422
    assert list(response.context["messages"])


def test_the_log_is_shortened_and_shown_whole_on_request(client: Client, world: World) -> None:
    contract = world.met()
    client.force_login(world.consultant)
    url = reverse("engagement", args=[contract.engagement.reference])
    assert "was opened" not in page_of(client, contract.engagement)
    assert "Show full log" in page_of(client, contract.engagement)
    assert "Show full log" not in client.get(f"{url}?log=all").content.decode()


def test_links_to_finance_are_shown_with_permission_only(client: Client, world: World) -> None:
    contract = world.missed()
    url = reverse("settlement", args=[contract.settlements.get().pk])
    client.force_login(world.consultant)
    assert url not in page_of(client, contract.engagement)
    for person in (world.finance, world.admin):
        client.force_login(person)
        assert url in page_of(client, contract.engagement)


def test_the_page_says_which_milestones_are_paid(client: Client, world: World) -> None:
    contract = world.met()
    client.force_login(world.consultant)
    shown = client.get(reverse("engagement", args=[contract.engagement.reference])).context
    paid = contract.milestones.order_by("position")[:2]
    assert shown["paid_milestones"] == {each.pk for each in paid}
