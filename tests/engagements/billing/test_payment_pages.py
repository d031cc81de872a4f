"""Recording payments by hand."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from tests.engagements import story as told
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return told.in_force()


@pytest.fixture
def invoice(story: Story) -> Invoice:
    return told.invoiced(story, 1)


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def page_of(invoice: Invoice) -> str:
    return reverse("payment-record", args=[invoice.pk])


def sent(**changed: str) -> dict[str, str]:
    day = timezone.localdate() - timedelta(days=1)
    return {"amount": "17136.00", "received_on": day.isoformat(), "reference": "SEPA-1"} | changed


@pytest.mark.parametrize("typed", ["17136.00", "17,136.00", "17.136,00", "EUR 17 136,00"])
def test_a_payment_is_read_in_either_notation(fritz: Client, invoice: Invoice, typed: str) -> None:
    assert fritz.post(page_of(invoice), sent(amount=typed)).status_code == 302
    assert Payment.objects.get().amount == Decimal("17136.00")


def test_the_open_amount_is_offered_and_can_be_sent_as_it_is(
    fritz: Client, invoice: Invoice
) -> None:
    assert 'value="17136.00"' in fritz.get(page_of(invoice)).content.decode()


def test_the_same_payment_sent_twice_is_recorded_once(fritz: Client, invoice: Invoice) -> None:
    for _ in range(2):
        assert fritz.post(page_of(invoice), sent()).status_code == 302
    assert Payment.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"amount": "17.136"}, "could be 17136 or 17.136"),
        ({"amount": "17136.01"}, "too much"),
        ({"amount": ""}, "Enter the amount that arrived."),
        ({"amount": "USD 5.00"}, "paid in EUR, not in USD"),
        ({"received_on": "2999-01-01"}, "That is in the future"),
        ({"received_on": "31.02."}, "Enter a day as in 2026-03-31."),
        ({"reference": " "}, "Enter the reference on the bank statement."),
    ],
)
def test_a_wrong_payment_is_refused_and_what_was_typed_is_kept(
    fritz: Client, invoice: Invoice, changed: dict[str, str], said: str
) -> None:
    response = fritz.post(page_of(invoice), sent(**changed))
    page = response.content.decode()
    assert response.status_code == 422
    assert said in page
    for value in sent(**changed).values():
        assert f'value="{value}"' in page or not value.strip()
    assert not Payment.objects.exists()


def test_what_is_over_is_recorded_by_who_says_that_it_arrived(
    fritz: Client, invoice: Invoice
) -> None:
    over = sent(amount="20000.00", may_exceed="on")
    assert fritz.post(page_of(invoice), over).status_code == 302
    page = fritz.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert "Overpaid" in page
    assert "−EUR\xa02,864.00" in page


def test_a_draft_takes_no_payment(fritz: Client, story: Story) -> None:
    url = page_of(told.drafted(story))
    assert "recorded for an issued invoice" in fritz.get(url).content.decode()
    assert fritz.post(url, sent()).status_code == 422


def test_an_invoice_that_is_paid_in_part_stays_open(fritz: Client, invoice: Invoice) -> None:
    fritz.post(page_of(invoice), sent(amount="10000,50"))
    assert "EUR\xa07,135.50" in fritz.get(reverse("finance")).content.decode()


def test_yen_have_no_decimals(client: Client) -> None:
    story = told.in_force(currency="JPY")
    client.force_login(story.finance)
    url = page_of(told.invoiced(story, 1))
    assert 'value="17136"' in client.get(url).content.decode()
    response = client.post(url, sent(amount="100.5"))
    assert "JPY has no decimals" in response.content.decode()
    assert client.post(url, sent(amount="17136")).status_code == 302
