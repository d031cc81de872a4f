"""The settlement page: every line, every step, and never by one person alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements.payouts import refunds
from engagements.people.models import User
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements import story as told
from tests.engagements.signing_in import as_just_signed_in
from tests.engagements.story import Story
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
State = Settlement.State


@pytest.fixture
def story() -> Story:
    return told.missed()


def take(client: Client, story: Story, step: str, by: User, **data: str) -> tuple[int, str]:
    """Take a step on the page; the status and what the page then says."""
    as_just_signed_in(client, by)
    settlement = Settlement.objects.filter(contract_version=story.contract).latest("pk")
    response = client.post(reverse(f"settlement-{step}", args=[settlement.pk]), data)
    return response.status_code, response.content.decode()


def page_of(client: Client, story: Story, by: User) -> str:
    client.force_login(by)
    return client.get(reverse("settlement", args=[story.settlement.pk])).content.decode()


def page_of_finance(client: Client, story: Story, name: str) -> str:
    client.force_login(story.finance)
    return client.get(reverse(name)).content.decode()


def test_the_whole_calculation_is_shown_line_by_line(client: Client, story: Story) -> None:
    page = page_of(client, story, story.finance)
    for shown in (
        "BANK-1",
        "EUR\xa017,136.00",
        "−EUR\xa06,500.00",
        "−EUR\xa01,235.00",
        "EUR\xa09,401.00",
        "Tax on the audit, 19%",
        "Twofold, after the verdict",
    ):
        assert shown in page, shown


def test_from_proposed_to_paid(client: Client, story: Story) -> None:
    assert take(client, story, "approve", story.second)[0] == 302
    assert take(client, story, "start", story.finance)[0] == 302
    assert take(client, story, "failed", story.finance, reason="IBAN closed")[0] == 302
    assert "Try the payment again" in page_of(client, story, story.finance)
    assert take(client, story, "start", story.finance)[0] == 302
    assert take(client, story, "paid", story.finance, reference="SEPA-9")[0] == 302
    assert story.settlement.state == State.PAID
    page = page_of(client, story, story.finance)
    assert "reference SEPA-9" in page
    assert "IBAN closed" in page
    assert "What can be done" not in page


def test_every_step_sent_twice_changes_nothing_the_second_time(
    client: Client, story: Story
) -> None:
    for step, data in (("approve", {}), ("start", {}), ("paid", {"reference": "SEPA-9"})):
        for _ in range(2):
            assert take(client, story, step, story.second, **data)[0] == 302
    events = story.engagement.events.filter(verb__startswith="settlement.")
    assert events.count() == 4  # proposed, approved, paying, paid


def test_who_proposed_cannot_approve_and_is_told_why(client: Client, story: Story) -> None:
    settlements.void(settlement=story.settlement, reason="Wrong tax", by=story.second)
    client.force_login(story.finance)
    url = reverse("settlement-propose", args=[story.reference])
    assert client.post(url, {"reason": "missed"}).status_code == 302
    proposed = Settlement.objects.get(state=State.PROPOSED)
    page = client.get(reverse("settlement", args=[proposed.pk])).content.decode()
    assert "somebody else of finance has to approve" in page
    assert "disabled" in page
    status, answer = take(client, story, "approve", story.finance)
    assert status == 422
    assert "Nobody approves a settlement they proposed themselves." in answer
    assert take(client, story, "approve", story.second)[0] == 302


def test_proposing_twice_is_one_settlement(client: Client, story: Story) -> None:
    settlements.void(settlement=story.settlement, reason="Wrong tax", by=story.second)
    client.force_login(story.finance)
    url = reverse("settlement-propose", args=[story.reference])
    assert "EUR\xa09,401.00" in client.get(url).content.decode()
    for _ in range(2):
        assert client.post(url, {"reason": "missed"}).status_code == 302
    assert Settlement.objects.exclude(state=State.VOIDED).count() == 1


def test_a_second_proposal_beside_a_live_one_is_refused(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    url = reverse("settlement-propose", args=[story.reference])
    response = client.post(url, {"reason": "missed"})
    assert response.status_code == 422
    assert "being settled already" in response.content.decode()


def test_by_when_a_refund_is_due_is_shown_and_what_is_late_is_counted(
    client: Client, story: Story, on_day: Callable[[date], None]
) -> None:
    due_on = story.settlement.refund_due_on
    assert due_on is not None
    day = f'<time datetime="{due_on}">'
    overdue = f"{reverse('settlements')}?queue=overdue"
    overview = page_of_finance(client, story, "finance")
    assert day in overview
    assert overdue not in overview
    assert day in page_of(client, story, story.finance)
    on_day(due_on + timedelta(days=1))
    assert overdue in page_of_finance(client, story, "finance")
    page = page_of(client, story, story.finance)
    assert "Overdue" in page
    assert "The refund was due on" in page
    listed = client.get(overdue).content.decode()
    assert reverse("settlement", args=[story.settlement.pk]) in listed
    assert "Overdue (1)" in listed
    csv = client.get(overdue, {"queue": "overdue", "format": "csv"}).content.decode()
    assert str(due_on) in csv


def test_an_open_verdict_is_not_settled(client: Client) -> None:
    story = told.underway()
    client.force_login(story.finance)
    url = reverse("settlement-propose", args=[story.reference])
    assert client.post(url, {"reason": "time_box"}).status_code == 422
    assert client.post(url, {"reason": "because"}).status_code == 422
    assert not Settlement.objects.exists()


@pytest.mark.parametrize("step", ["paid", "failed", "void"])
def test_reference_and_reasons_are_needed(client: Client, story: Story, step: str) -> None:
    status, page = take(client, story, step, story.second, reference=" ", reason=" ")
    assert status == 422
    assert 'aria-invalid="true"' in page
    assert story.settlement.state == State.PROPOSED


def test_a_step_out_of_turn_is_refused_and_what_was_typed_is_kept(
    client: Client, story: Story
) -> None:
    status, page = take(client, story, "paid", story.second, reference="TOO-SOON")
    assert status == 422
    assert "to be marked as paid it must be" in page
    assert 'value="TOO-SOON"' in page


def test_a_voided_settlement_says_who_and_why(client: Client, story: Story) -> None:
    assert take(client, story, "void", story.second, reason="A payment was missing")[0] == 302
    page = page_of(client, story, story.finance)
    assert "Selma Second: A payment was missing" in page


def test_what_was_proposed_before_more_came_in_is_voided_and_not_approved(
    client: Client, world: World
) -> None:
    proposed = world.settlement()
    url = reverse("settlement", args=[proposed.pk])
    client.force_login(world.controller)
    before = client.get(url).content.decode()
    assert "Anybody of finance: check and approve" in before
    assert "What follows from it" in before
    world.paid_beyond(proposed.contract_version.engagement.invoices.earliest("pk"), Decimal(9), "X")
    after = client.get(url).content.decode()
    assert "Finance: void it and propose it anew" in after
    assert 'disabled aria-describedby="why-not-approve"' in after
    assert "What follows from it" not in after


def test_where_nothing_goes_back_no_transfer_is_spoken_of(client: Client) -> None:
    story = told.in_force()
    told.invoiced(story, 1)
    told.measured(story, 1.1)
    page = page_of(client, story, story.second)
    assert "Says that the figures are right. Nothing goes back." in page
    told.approved(story)
    page = page_of(client, story, story.second)
    assert "Finance: enter what it is filed under; nothing is transferred" in page
    assert "Mark as settled" in page
    assert "Filed under" in page
    engagement = client.get(reverse("engagement", args=[story.reference])).content.decode()
    assert "Enter what the settlement is filed under: nothing goes back." in engagement
    for wrong in ("make the transfer", "Mark as paid", "As on the bank statement"):
        assert wrong not in page, wrong
    status, refused = take(client, story, "paid", story.second, reference="")
    assert status == 422
    assert "Enter what it is filed under." in refused
    take(client, story, "paid", story.second, reference="S-1")
    page = page_of(client, story, story.second)
    assert "Settled: EUR\xa07,735.00 of the audit is still to be paid, reference S-1." in page


def settled(world: World, **changes: Any) -> Settlement:
    row = settlements.approve(settlement=world.settlement(**changes), by=world.controller)
    return refunds.mark_paid(settlement=row, reference="SEPA-1", by=world.controller)


def test_what_came_in_since_is_listed_and_goes_back_only_where_it_is_too_much(
    client: Client, world: World
) -> None:
    left_to_pay, went_back = settled(world, paid=0), settled(world)
    bill = went_back.contract_version.engagement.invoices.filter(kind="invoice").order_by("pk")[0]
    audit = left_to_pay.contract_version.milestones.get(position=2)
    world.paid_beyond(world.invoice(audit), left_to_pay.balance_due, "the audit")
    world.paid_beyond(bill, Decimal(119), "by mistake")
    client.force_login(world.finance)
    listed = client.get(reverse("settlements")).content.decode()
    assert listed.count("left EUR\xa07,140.00 of the audit to be paid") == 1
    for row, reference, is_too_much in (
        (left_to_pay, "the audit", False),
        (went_back, "by mistake", True),
    ):
        page = client.get(reverse("settlement", args=[row.pk])).content.decode()
        assert "Came in since it was proposed" in page
        assert reference in page
        assert ("It goes back by a further settlement." in page) is is_too_much
    client.force_login(world.viewer)
    overpaid = world.met_paid_and_overpaid(Decimal(119)).engagement
    for engagement, told_so in (
        (went_back.contract_version.engagement, "You paid more after the settlement."),
        (overpaid, "You paid more than was asked."),
    ):
        url = reverse("portal-engagement", args=[engagement.reference])
        portal = client.get(url).content.decode()
        assert told_so in portal
        assert "close the engagement" not in portal
