"""The settlement pages: the calculation, every step, and never by one person alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements.payouts import refunds
from engagements.people.models import User
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements import story as stories
from tests.engagements.sessions import sign_in, sign_in_by_password
from tests.engagements.story import Story
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
State = Settlement.State


@pytest.fixture
def story() -> Story:
    return stories.missed()


def take(client: Client, story: Story, step: str, by: User, **data: str) -> tuple[int, str]:
    """Perform a step on the newest settlement's page; the status and the page."""
    sign_in(client, by)
    settlement = Settlement.objects.filter(contract_version=story.contract).latest("pk")
    response = client.post(reverse(f"settlement-{step}", args=[settlement.pk]), data)
    return response.status_code, response.content.decode()


def page_of(client: Client, row: Settlement, by: User) -> str:
    client.force_login(by)
    return client.get(reverse("settlement", args=[row.pk])).content.decode()


def propose_url(row: Settlement) -> str:
    return reverse("settlement-propose", args=[row.contract_version.engagement.reference])


def action(row: Settlement, step: str) -> str:
    return f'action="{reverse(f"settlement-{step}", args=[row.pk])}"'


def test_the_calculation_is_shown_line_by_line(client: Client, story: Story) -> None:
    page = page_of(client, story.settlement, story.finance)
    for shown in (
        "BANK-1",
        # The heading names the currency.
        ", EUR</th>",
        ">17,136.00<",
        ">−6,500.00<",
        ">−1,235.00<",
        ">9,401.00<",
        'id="follows"',
    ):
        assert shown in page, shown


def test_no_tax_has_no_sign(client: Client, world: World) -> None:
    contract = world.missed(tax_treatment="exempt", tax_rate_percent=Decimal(0), tax_note="Exempt.")
    page = page_of(client, contract.settlements.get(), world.finance)
    assert ">0.00<" in page
    assert "−0.00" not in page


def test_from_proposed_to_paid_each_step_sent_twice_counts_once(
    client: Client, story: Story
) -> None:
    for step, by, data in (
        ("approve", story.second, {}),
        ("start", story.finance, {}),
        ("failed", story.second, {"reason": "IBAN closed"}),
        ("start", story.finance, {}),
        ("paid", story.finance, {"reference": "SEPA-9"}),
    ):
        for _ in range(2):
            assert take(client, story, step, by, **data)[0] == 302
    assert story.settlement.state == State.PAID
    # proposed, approved, paying, failed, paying, paid
    assert story.engagement.events.filter(verb__startswith="settlement.").count() == 6
    page = page_of(client, story.settlement, story.finance)
    assert "SEPA-9" in page
    assert "IBAN closed" in page
    assert 'id="actions"' not in page


def test_the_proposer_cannot_approve_and_a_repeated_proposal_is_one_settlement(
    client: Client, story: Story
) -> None:
    url = reverse("settlement-propose", args=[story.reference])
    client.force_login(story.finance)
    assert client.post(url, {"reason": "missed"}).status_code == 422
    settlements.void(settlement=story.settlement, reason="Wrong tax", by=story.second)
    page = page_of(client, story.settlement, story.finance)
    assert "Wrong tax" in page
    assert url in page
    assert "EUR\xa09,401.00" in client.get(url).content.decode()
    for _ in range(2):
        assert client.post(url, {"reason": "missed"}).status_code == 302
    proposed = Settlement.objects.get(state=State.PROPOSED)
    assert 'disabled aria-describedby="why-not-approve"' in page_of(client, proposed, story.finance)
    assert take(client, story, "approve", story.finance)[0] == 422
    assert take(client, story, "approve", story.second)[0] == 302


def test_the_due_date_is_shown_and_overdue_refunds_are_counted(
    client: Client, story: Story, on_day: Callable[[date], None]
) -> None:
    due_on = story.settlement.refund_due_on
    assert due_on is not None
    overdue = f"{reverse('settlements')}?queue=overdue"
    page = page_of(client, story.settlement, story.finance)
    overview = client.get(reverse("finance")).content.decode()
    for shown in (page, overview):
        assert f'<time datetime="{due_on}">' in shown
        assert overdue not in shown
    on_day(due_on + timedelta(days=1))
    client.force_login(story.finance)
    assert overdue in client.get(reverse("finance")).content.decode()
    listed = client.get(overdue).content.decode()
    assert reverse("settlement", args=[story.settlement.pk]) in listed
    csv = client.get(overdue, {"queue": "overdue", "format": "csv"}).content.decode()
    assert str(due_on) in csv


def test_an_open_verdict_is_not_settled(client: Client) -> None:
    story = stories.underway()
    client.force_login(story.finance)
    url = reverse("settlement-propose", args=[story.reference])
    for reason in ("time_box", "because"):
        assert client.post(url, {"reason": reason}).status_code == 422
    assert not Settlement.objects.exists()


def test_rejected_steps_keep_their_input_and_change_nothing(client: Client, story: Story) -> None:
    for step in ("paid", "failed", "void"):
        status, page = take(client, story, step, story.second, reference=" ", reason=" ")
        assert status == 422
        assert 'aria-invalid="true"' in page
    status, page = take(client, story, "paid", story.second, reference="TOO-SOON")
    assert status == 422
    assert 'value="TOO-SOON"' in page
    assert story.settlement.state == State.PROPOSED


def test_an_outdated_proposal_cannot_be_approved(client: Client, world: World) -> None:
    proposed = world.settlement()
    assert 'id="follows"' in page_of(client, proposed, world.controller)
    world.paid_beyond(proposed.contract_version.engagement.invoices.earliest("pk"), Decimal(9), "X")
    page = page_of(client, proposed, world.controller)
    assert 'id="needs-another"' in page
    assert 'disabled aria-describedby="why-not-approve"' in page
    assert 'id="follows"' not in page


def test_without_a_refund_there_is_no_transfer(client: Client) -> None:
    story = stories.in_force()
    stories.invoiced(story, 1)
    stories.measured(story, 1.1)
    stories.approved(story)
    page = page_of(client, story.settlement, story.second)
    assert action(story.settlement, "paid") in page
    assert action(story.settlement, "start") not in page
    assert take(client, story, "paid", story.second, reference="")[0] == 422
    assert take(client, story, "paid", story.second, reference="S-1")[0] == 302
    page = page_of(client, story.settlement, story.second)
    assert "EUR\xa07,735.00" in page
    assert "S-1" in page


def test_later_payments_are_listed_and_refunded_only_beyond_the_balance(
    client: Client, world: World
) -> None:
    owing, refunded = (
        refunds.mark_paid(
            settlement=settlements.approve(
                settlement=world.settlement(**changes), by=world.controller
            ),
            reference="SEPA-1",
            by=world.finance,
        )
        for changes in ({"paid": 0}, {})
    )
    bill = refunded.contract_version.engagement.invoices.filter(kind="invoice").order_by("pk")[0]
    audit = owing.contract_version.milestones.get(position=2)
    world.paid_beyond(world.invoice(audit), owing.balance_due, "the audit")
    world.paid_beyond(bill, Decimal(119), "by mistake")
    for row, reference, needs_another in (
        (owing, "the audit", False),
        (refunded, "by mistake", True),
    ):
        page = page_of(client, row, world.finance)
        assert 'id="later"' in page
        assert reference in page
        assert ('id="needs-another"' in page) is needs_another


def test_a_further_settlement_is_previewed_and_then_proposed(client: Client, world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=row, reference="REFUND-1", by=world.finance)
    client.force_login(world.finance)
    data = {"reason": "further", "keeps": "nothing", "note": "Goodwill."}
    shown = client.post(propose_url(row), data | {"preview": "1"})
    assert "EUR\xa07,140.00" in shown.content.decode()
    assert Settlement.objects.count() == 1
    assert client.post(propose_url(row), data).status_code == 302
    assert Settlement.objects.get(reason="further").refund == Decimal(7140)
    changed = data | {"keeps": "less", "audit_cost": "3000.00"}
    assert client.post(propose_url(row), changed).status_code == 422


def test_an_old_page_does_not_fail_the_next_attempt(client: Client, world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.start_payment(settlement=row, by=world.finance)
    assert 'id="why-not-failed"' in page_of(client, row, world.finance)
    assert 'name="attempt" value="1"' in page_of(client, row, world.controller)
    refunds.mark_failed(settlement=row, reason="IBAN typo", by=world.controller)
    refunds.start_payment(settlement=row, by=world.finance)
    failed = reverse("settlement-failed", args=[row.pk])
    assert client.post(failed, {"reason": "IBAN", "attempt": "1"}).status_code == 422
    assert Settlement.objects.get(pk=row.pk).state == "paying"
    assert client.post(failed, {"reason": "IBAN", "attempt": "2"}).status_code == 302


def test_approving_needs_a_fresh_sign_in(client: Client, world: World) -> None:
    row = world.settlement()
    sign_in_by_password(client, world.controller)
    answer = client.post(reverse("settlement-approve", args=[row.pk]))
    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert Settlement.objects.get(pk=row.pk).state == "proposed"


def test_queues_are_searched_and_downloaded(client: Client, world: World) -> None:
    proposed = world.settlement()
    paying = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.start_payment(settlement=paying, by=world.finance)
    held = world.settlement()
    disputes.raise_dispute(settlement=held, reason="Too little.", by=world.signatory)
    client.force_login(world.finance)
    url = reverse("settlements")
    for queue, row in (("to-approve", proposed), ("with-the-bank", paying), ("on-hold", held)):
        page = client.get(url, {"queue": queue}).content.decode()
        shown = {each.pk for each in (proposed, paying, held) if f"settlements/{each.pk}/" in page}
        assert shown == {row.pk}, queue
    reference = held.contract_version.engagement.reference
    found = client.get(url, {"q": reference, "format": "csv"}).content
    assert found.decode().count("\n") == 2
    assert client.get(url, {"queue": "lost"}).status_code == 404
