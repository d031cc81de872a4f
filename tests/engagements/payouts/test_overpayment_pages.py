"""What is too much of an invoice, on finance's pages: shown, moved, paid back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import payments
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.payouts import overpayment_refunds
from engagements.payouts.models import OverpaymentRefund
from tests.engagements import story as told
from tests.engagements.signing_in import as_just_signed_in
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return told.in_force()


@pytest.fixture
def invoice(story: Story) -> Invoice:
    """Paid with 2,864.00 too much."""
    row = told.invoiced(story, 1)
    payments.record(
        invoice=row,
        amount=Decimal(20000),
        received_on=timezone.localdate(),
        reference="P-1",
        by=story.finance,
        may_exceed=True,
    )
    return row


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def page_of(client: Client, name: str, *args: object) -> str:
    return client.get(reverse(name, args=args)).content.decode()


def test_the_overview_leads_to_what_is_too_much(fritz: Client, invoice: Invoice) -> None:
    page = page_of(fritz, "finance")
    assert "Overpaid invoices" in page
    assert reverse("overpayment", args=[invoice.pk]) in page
    assert reverse("overpayment", args=[invoice.pk]) in page_of(fritz, "invoice", invoice.pk)


def test_a_move_is_shown_first_and_made_once(fritz: Client, story: Story, invoice: Invoice) -> None:
    other = told.invoiced(story, 2)
    url = reverse("overpayment-move", args=[invoice.pk])
    data = {"to": other.pk, "amount": "2864.00", "reference": "MOVE-1"}
    page = fritz.post(url, data).content.decode()
    assert "its accounts stay as they are" in page
    assert "Move it" in page
    assert Payment.objects.count() == 1
    for _ in range(2):
        response = fritz.post(url, data | {"act": "yes"})
        assert response["Location"] == reverse("invoice", args=[invoice.pk])
    assert Payment.objects.count() == 3
    assert balance_of(other).received == Decimal(2864)
    assert f"Moved to {other.reference}" in page_of(fritz, "invoice", invoice.pk)
    assert f"Moved from {invoice.reference}" in page_of(fritz, "invoice", other.pk)
    assert "Overpaid invoices" not in page_of(fritz, "finance")


def test_paying_back_is_shown_proposed_and_sent_by_another_with_their_password(
    client: Client, fritz: Client, story: Story, invoice: Invoice
) -> None:
    propose = reverse("overpayment-refund", args=[invoice.pk])
    page = fritz.post(propose, {"amount": "2,864.00"}).content.decode()
    for shown in ("Overpayment refund sent", "Overpayment refund paid", "Propose it"):
        assert shown in page
    assert not OverpaymentRefund.objects.exists()
    for _ in range(2):
        assert fritz.post(propose, {"amount": "2,864.00", "act": "yes"}).status_code == 302
    row = OverpaymentRefund.objects.get()
    page = page_of(fritz, "overpayment", invoice.pk)
    assert "You proposed to pay it back, so somebody else of finance sends it." in page
    assert "Finance, but not Fritz Finance" in page_of(fritz, "finance")
    send = reverse("overpayment-refund-send", args=[row.pk])
    as_just_signed_in(fritz, story.finance)
    refused = fritz.post(send)
    assert refused.status_code == 422
    assert "Nobody sends what they proposed" in refused.content.decode()
    story.second.set_password("a long enough sentence of words")
    story.second.save()
    client.force_login(story.second)
    assert client.post(send)["Location"].startswith(reverse("account_reauthenticate"))
    as_just_signed_in(client, story.second)
    assert client.post(send)["Location"] == reverse("overpayment", args=[invoice.pk])
    assert Payment.objects.get(kind="paid_back").amount == Decimal(-2864)
    assert "The bank; then finance" in page_of(client, "finance")
    assert reverse("overpayment", args=[invoice.pk]) in page_of(client, "invoice", invoice.pk)


def test_the_rest_of_what_is_too_much_stays_open_while_a_part_goes_back(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(864), by=story.second)
    other = told.invoiced(story, 2)
    for state in ("proposed", "paying"):
        overview = page_of(fritz, "finance")
        assert "EUR\xa02,000.00" in overview
        assert "EUR\xa0864.00" in overview
        page = page_of(fritz, "overpayment", invoice.pk)
        assert "EUR\xa02,000.00 is too much beside what goes back." in page
        assert 'value="2000.00"' in page
        assert reverse("overpayment-refund", args=[invoice.pk]) not in page
        if state == "proposed":
            overpayment_refunds.send(refund=row, by=story.finance)
    url = reverse("overpayment-move", args=[invoice.pk])
    moved = {"to": other.pk, "amount": "2000.00", "reference": "MOVE-1"}
    assert "Move it" in fritz.post(url, moved).content.decode()
    assert fritz.post(url, moved | {"act": "yes"}).status_code == 302
    assert "is too much beside" not in page_of(fritz, "overpayment", invoice.pk)


@pytest.mark.parametrize(
    ("step", "data", "said"),
    [
        ("paid", {"reference": "SEPA-9"}, "SEPA-9"),
        ("failed", {"reason": "Account closed"}, "Account closed"),
    ],
)
def test_how_the_transfer_ended_is_noted_once_and_needs_its_words(
    fritz: Client, story: Story, invoice: Invoice, step: str, data: dict[str, str], said: str
) -> None:
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(2864), by=story.second)
    overpayment_refunds.send(refund=row, by=story.finance)
    url = reverse(f"overpayment-refund-{step}", args=[row.pk])
    empty = fritz.post(url)
    assert empty.status_code == 422
    assert 'aria-invalid="true"' in empty.content.decode()
    for _ in range(2):
        assert fritz.post(url, data).status_code == 302
    page = page_of(fritz, "overpayment", invoice.pk)
    assert said in page
    assert "proposed by Selma Second, sent by Fritz Finance" in page
    open_amount = 0 if step == "paid" else -2864
    assert balance_of(invoice).open_amount == open_amount


def test_a_proposal_is_set_aside_and_a_step_that_came_too_late_says_so(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(5), by=story.second)
    url = reverse("overpayment-refund-void", args=[row.pk])
    assert fritz.post(url, {"reason": "They want it moved."}).status_code == 302
    assert "They want it moved." in page_of(fritz, "overpayment", invoice.pk)
    late = fritz.post(reverse("overpayment-refund-paid", args=[row.pk]), {"reference": "R-1"})
    assert late.status_code == 422
    assert "must be on its way" in late.content.decode()


@pytest.mark.parametrize(
    ("route", "changed", "said"),
    [
        ("move", {"amount": "2864.01"}, "would be more"),
        ("move", {"to": "0"}, "Choose an invoice."),
        ("refund", {"amount": "3000"}, "would be more"),
        ("refund", {"amount": ""}, "Enter an amount."),
    ],
)
def test_what_cannot_be_is_refused_and_what_was_typed_is_kept(
    fritz: Client,
    story: Story,
    invoice: Invoice,
    route: str,
    changed: dict[str, str],
    said: str,
) -> None:
    data = {"amount": "5.00", "reference": "R-1", "act": "yes"}
    data |= {"to": str(told.invoiced(story, 2).pk)} if route == "move" else {}
    response = fritz.post(reverse(f"overpayment-{route}", args=[invoice.pk]), data | changed)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert Payment.objects.count() == 1


def test_where_nothing_is_too_much_there_is_nothing_to_move(fritz: Client, story: Story) -> None:
    page = page_of(fritz, "overpayment", told.invoiced(story, 1).pk)
    assert "Nothing is too much" in page
    assert '<button class="button button--primary"' not in page


def test_what_a_settlement_counts_goes_back_with_that(client: Client) -> None:
    story = told.missed()
    client.force_login(story.finance)
    assert "counted by its settlement" in page_of(client, "overpayment", story.invoice.pk)
