"""The pages of an overpaid invoice: shown, moved, refunded."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.payouts import overpayment_refunds
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.people.models import Role
from tests.engagements import story as stories
from tests.engagements.sessions import sign_in, sign_in_by_password
from tests.engagements.story import Story
from tests.engagements.world import person, received

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.in_force()


@pytest.fixture
def invoice(story: Story) -> Invoice:
    """Overpaid by 2,864.00."""
    row = stories.invoiced(story, 1)
    received(
        invoice=row,
        amount=Decimal(20000),
        received_on=timezone.localdate(),
        reference="P-1",
        by=story.finance,
        confirmed_by=story.second,
        may_exceed=True,
    )
    return row


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def page_of(client: Client, name: str, *args: object) -> str:
    return client.get(reverse(name, args=args)).content.decode()


def test_a_move_is_previewed_first_and_made_once(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    overpayment = reverse("overpayment", args=[invoice.pk])
    assert overpayment in page_of(fritz, "finance")
    assert overpayment in page_of(fritz, "invoice", invoice.pk)
    other = stories.invoiced(story, 2)
    url = reverse("overpayment-move", args=[invoice.pk])
    data = {"to": other.pk, "amount": "2864.00", "reference": "MOVE-1"}
    assert 'name="confirm"' not in page_of(fritz, "overpayment", invoice.pk)
    assert 'name="confirm"' in fritz.post(url, data).content.decode()
    assert Payment.objects.count() == 1
    for _ in range(2):
        response = fritz.post(url, data | {"confirm": "yes"})
        assert response["Location"] == reverse("invoice", args=[invoice.pk])
    assert Payment.objects.count() == 3
    assert balance_of(other).received == Decimal(2864)
    assert other.reference in page_of(fritz, "invoice", invoice.pk)
    assert invoice.reference in page_of(fritz, "invoice", other.pk)
    assert overpayment not in page_of(fritz, "finance")


def test_a_refund_is_previewed_proposed_and_sent_by_another_after_a_fresh_sign_in(
    client: Client, fritz: Client, story: Story, invoice: Invoice
) -> None:
    propose = reverse("overpayment-refund", args=[invoice.pk])
    shown = fritz.post(propose, {"amount": "2,864.00"}).content.decode()
    assert 'id="follows"' in shown
    assert 'name="confirm"' in shown
    assert not OverpaymentRefund.objects.exists()
    for _ in range(2):
        sent = fritz.post(propose, {"amount": "2,864.00", "confirm": "yes"})
        assert sent.status_code == 302
    assert fritz.post(propose, {"amount": "2,863.00", "confirm": "yes"}).status_code == 422
    row = OverpaymentRefund.objects.get()
    shown = page_of(fritz, "overpayment", invoice.pk)
    assert 'disabled aria-describedby="why-not-send"' in shown
    send = reverse("overpayment-refund-send", args=[row.pk])
    sign_in(fritz, story.finance)
    assert fritz.post(send).status_code == 422
    sign_in_by_password(client, story.second)
    assert client.post(send)["Location"].startswith(reverse("account_reauthenticate"))
    sign_in(client, story.second)
    assert client.post(send)["Location"] == reverse("overpayment", args=[invoice.pk])
    assert Payment.objects.get(kind="paid_back").amount == Decimal(-2864)
    assert reverse("overpayment", args=[invoice.pk]) in page_of(client, "invoice", invoice.pk)


def test_the_remainder_can_be_moved_while_a_part_is_refunded(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(864), by=story.second)
    other = stories.invoiced(story, 2)
    for state in ("proposed", "paying"):
        overview = page_of(fritz, "finance")
        assert "EUR\xa02,000.00" in overview
        assert "EUR\xa0864.00" in overview
        page = page_of(fritz, "overpayment", invoice.pk)
        assert 'value="2000.00"' in page
        assert reverse("overpayment-refund", args=[invoice.pk]) not in page
        if state == "proposed":
            overpayment_refunds.send(refund=row, by=story.finance)
    url = reverse("overpayment-move", args=[invoice.pk])
    moved = {"to": other.pk, "amount": "2000.00", "reference": "MOVE-1", "confirm": "yes"}
    assert fritz.post(url, moved).status_code == 302
    assert 'value="2000.00"' not in page_of(fritz, "overpayment", invoice.pk)


@pytest.mark.parametrize(
    ("step", "data", "text"),
    [
        ("paid", {"reference": "SEPA-9"}, "SEPA-9"),
        ("failed", {"reason": "Account closed"}, "Account closed"),
    ],
)
def test_the_end_of_a_transfer_is_recorded_once(
    fritz: Client, story: Story, invoice: Invoice, step: str, data: dict[str, str], text: str
) -> None:
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(2864), by=story.second)
    # The sender of a refund does not record that it failed.
    third = person("Theo Third", Role.FINANCE)
    overpayment_refunds.send(refund=row, by=third)
    url = reverse(f"overpayment-refund-{step}", args=[row.pk])
    empty = fritz.post(url)
    assert empty.status_code == 422
    assert 'aria-invalid="true"' in empty.content.decode()
    for _ in range(2):
        assert fritz.post(url, data).status_code == 302
    page = page_of(fritz, "overpayment", invoice.pk)
    for shown in (text, "Selma Second", "Theo Third"):
        assert shown in page
    open_amount = 0 if step == "paid" else -2864
    assert balance_of(invoice).open_amount == open_amount


def test_invalid_input_and_late_steps_are_rejected(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(5), by=story.second)
    url = reverse("overpayment-refund-void", args=[row.pk])
    assert fritz.post(url, {"reason": "They want it moved."}).status_code == 302
    assert "They want it moved." in page_of(fritz, "overpayment", invoice.pk)
    late = reverse("overpayment-refund-paid", args=[row.pk])
    assert fritz.post(late, {"reference": "R-1"}).status_code == 422
    other = stories.invoiced(story, 2)
    for name, changed in (
        ("overpayment-move", {"amount": "2864.01"}),
        ("overpayment-move", {"to": "0"}),
        ("overpayment-refund", {"amount": "3000"}),
        ("overpayment-refund", {"amount": ""}),
    ):
        data = {"to": other.pk, "amount": "5.00", "reference": "R-1", "confirm": "yes"}
        response = fritz.post(reverse(name, args=[invoice.pk]), data | changed)
        assert response.status_code == 422
        assert 'role="alert"' in response.content.decode()
    assert Payment.objects.count() == 1


def test_without_an_overpayment_there_is_no_form(fritz: Client, story: Story) -> None:
    page = page_of(fritz, "overpayment", stories.invoiced(story, 1).pk)
    assert 'id="nothing"' in page
    assert '<button class="button button--primary"' not in page


def test_a_settlement_refunds_an_overpayment_itself(client: Client) -> None:
    story = stories.missed()
    client.force_login(story.finance)
    assert 'id="settled"' in page_of(client, "overpayment", story.invoice.pk)
