"""The engagement's page in every stage, and the two ways in which a person ends it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements import closing
from engagements.audit import services as audits
from engagements.contracts.models import Party
from engagements.engagement.models import Engagement, Stage
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def page_of(client: Client, engagement: Engagement) -> str:
    response = client.get(reverse("engagement", args=[engagement.reference]))
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("scoping", "Start the audit"),
        ("audited", "Draft the contract"),
        ("drafted", "Version 1 is a draft"),
        ("offered", "Accept the contract for the consultancy"),
        ("active", "ask for the acceptance run by"),
        ("met", "Bill the milestones that the verdict released"),
        ("missed", "Approve the settlement"),
    ],
)
def test_the_page_says_who_must_do_what_next(
    client: Client, world: World, made: str, said: str
) -> None:
    row = getattr(world, made)()
    client.force_login(world.consultant)
    assert said in page_of(client, row if isinstance(row, Engagement) else row.engagement)


def test_what_came_in_late_goes_back_before_anybody_is_asked_to_close(
    client: Client, world: World
) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.controller)
    settled = settlement.contract_version.engagement
    bill = settled.invoices.filter(kind="invoice").order_by("pk")[0]
    client.force_login(world.consultant)
    assert "Close it" in page_of(client, settled)
    world.paid_beyond(bill, Decimal(119), "late")
    overpaid = world.met_paid_and_overpaid(Decimal(119))
    for engagement in (settled, overpaid.engagement):
        page = page_of(client, engagement)
        assert "More came in than is asked" in page
        assert "Close it" not in page


def test_once_the_house_has_accepted_the_customer_is_next(client: Client, world: World) -> None:
    contract = world.offered()
    world.accept(contract, Party.CONSULTANCY)
    client.force_login(world.consultant)
    page = page_of(client, contract.engagement)
    assert "Next: Longprompt AG" in page
    assert "accept the contract in the portal" in page


def test_a_run_under_way_is_what_is_waited_for(client: Client, world: World) -> None:
    contract = world.active()
    asked = world.request(contract)
    client.force_login(world.consultant)
    page = page_of(client, contract.engagement)
    assert "The acceptance run is queued" in page
    assert reverse("run", args=[contract.engagement.reference, asked.pk]) in page


@pytest.mark.parametrize(
    ("passes", "said"),
    [(3, "The audit pointed to cheaper interventions"), (1, "The audit said no")],
)
def test_where_the_audit_ends_it_nothing_follows_but_its_cost(
    client: Client, world: World, passes: int, said: str
) -> None:
    audit = world.answer(world.auditing(), *["pass"] * passes, *["fail"] * (6 - passes))
    delivered = audits.deliver(audit=audit, by=world.consultant)
    client.force_login(world.consultant)
    page = page_of(client, audit.engagement)
    assert f"{said}. Its cost is owed still" in page
    assert "Next: finance" in page
    audits.waive(audit=delivered, reason="Billed outside.", by=world.finance)
    page = page_of(client, audit.engagement)
    assert f"{said}. Nothing follows here." in page
    assert "Next: nobody" in page


def test_a_cancelled_engagement_shows_how_far_it_came(client: Client, world: World) -> None:
    contract = world.offered()
    closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)
    client.force_login(world.consultant)
    page = page_of(client, contract.engagement)
    assert "This engagement was cancelled" in page
    assert 'Offered<span class="visually-hidden">, done</span>' in page


@pytest.mark.parametrize(
    ("passed", "why"),
    [
        (3, "pointed to cheaper interventions"),
        (1, "spoke against custom work"),
        (None, "cancelled"),
    ],
)
def test_what_ended_before_a_contract_waits_for_none(
    client: Client, world: World, passed: int | None, why: str
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
        assert "It ended before a contract" in page
        assert why in page
        assert "No contract yet" not in page
    for waits in ("Nothing was measured yet", "No audit yet"):
        assert waits not in page_of(client, engagement)


def test_cancelling_wants_a_reason(client: Client, world: World) -> None:
    engagement = world.scoping()
    client.force_login(world.consultant)
    url = reverse("engagement-cancel", args=[engagement.reference])
    response = client.post(url, {"reason": "  "})
    assert response.status_code == 422
    assert "Say why" in response.content.decode()
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
    assert "has received money" in page
    assert "Lost interest." in page


def test_closing_is_refused_with_what_is_still_open(client: Client, world: World) -> None:
    contract = world.met()
    client.force_login(world.consultant)
    url = reverse("engagement-close", args=[contract.engagement.reference])
    response = client.post(url)
    assert response.status_code == 422
    assert "is not billed yet" in response.content.decode()


def test_the_log_is_shortened_and_shown_whole_on_request(client: Client, world: World) -> None:
    contract = world.met()
    client.force_login(world.consultant)
    url = reverse("engagement", args=[contract.engagement.reference])
    assert "was opened" not in page_of(client, contract.engagement)
    assert "Show all of it" in page_of(client, contract.engagement)
    assert "Show all of it" not in client.get(f"{url}?log=all").content.decode()


def test_a_link_to_the_money_is_for_those_who_may_open_it(client: Client, world: World) -> None:
    contract = world.missed()
    url = reverse("settlement", args=[contract.settlements.get().pk])
    client.force_login(world.consultant)
    assert url not in page_of(client, contract.engagement)
    for person in (world.finance, world.admin):
        client.force_login(person)
        assert url in page_of(client, contract.engagement)
