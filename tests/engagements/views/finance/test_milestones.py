"""Billing and recording payments."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.models import Milestone, Payment
from tests.engagements.views import story as told
from tests.engagements.views.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return told.active(told.offered(told.audited(told.opened())))


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def sent(**changed: str) -> dict[str, str]:
    day = timezone.localdate() - timedelta(days=1)
    return {"amount": "17136.00", "received_on": day.isoformat(), "reference": "SEPA-1"} | changed


def test_a_released_milestone_is_billed_once(fritz: Client, story: Story) -> None:
    url = reverse("milestone-bill", args=[story.milestone(1).pk])
    assert "EUR\xa017,136.00" in fritz.get(url).content.decode()
    for _ in range(2):
        assert fritz.post(url, {"reference": "INV-7"}).status_code == 302
    assert story.milestone(1).billing_reference == "INV-7"
    refused = fritz.post(url, {"reference": "INV-8"})
    assert refused.status_code == 422
    assert "was billed already, as INV-7" in refused.content.decode()


def test_a_pending_milestone_is_not_billed(fritz: Client, story: Story) -> None:
    url = reverse("milestone-bill", args=[story.milestone(3).pk])
    assert "only a released one is billed" in fritz.get(url).content.decode()
    refused = fritz.post(url, {"reference": "INV-9"})
    assert refused.status_code == 422
    assert 'value="INV-9"' in refused.content.decode()
    assert story.milestone(3).state == Milestone.State.PENDING


def test_a_draft_has_nothing_to_bill(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    assert client.get(reverse("milestone-bill", args=[987654])).status_code == 404


@pytest.mark.parametrize("typed", ["17136.00", "17,136.00", "17.136,00", "EUR 17 136,00"])
def test_a_payment_is_read_in_either_notation(fritz: Client, story: Story, typed: str) -> None:
    milestone = told.billed(story)
    url = reverse("payment-record", args=[milestone.pk])
    assert fritz.post(url, sent(amount=typed)).status_code == 302
    assert Payment.objects.get().amount == Decimal("17136.00")


def test_the_open_amount_is_offered_and_can_be_sent_as_it_is(fritz: Client, story: Story) -> None:
    milestone = told.billed(story)
    page = fritz.get(reverse("payment-record", args=[milestone.pk])).content.decode()
    assert 'value="17136.00"' in page


def test_the_same_payment_sent_twice_is_recorded_once(fritz: Client, story: Story) -> None:
    url = reverse("payment-record", args=[told.billed(story).pk])
    for _ in range(2):
        assert fritz.post(url, sent()).status_code == 302
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
    fritz: Client, story: Story, changed: dict[str, str], said: str
) -> None:
    url = reverse("payment-record", args=[told.billed(story).pk])
    response = fritz.post(url, sent(**changed))
    page = response.content.decode()
    assert response.status_code == 422
    assert said in page
    for value in sent(**changed).values():
        assert f'value="{value}"' in page or not value.strip()
    assert not Payment.objects.exists()


def test_a_payment_is_not_recorded_before_its_bill(fritz: Client, story: Story) -> None:
    url = reverse("payment-record", args=[story.milestone(1).pk])
    assert "recorded for a billed one" in fritz.get(url).content.decode()
    assert fritz.post(url, sent()).status_code == 422


def test_no_payment_goes_beside_a_settlement(client: Client) -> None:
    story = told.missed()
    client.force_login(story.finance)
    url = reverse("payment-record", args=[story.milestone(1).pk])
    assert client.post(url, sent(reference="LATE", amount="1.00")).status_code == 422


def test_a_bill_that_is_paid_in_part_stays_open(fritz: Client, story: Story) -> None:
    milestone = told.billed(story)
    fritz.post(reverse("payment-record", args=[milestone.pk]), sent(amount="10000,50"))
    page = fritz.get(reverse("finance")).content.decode()
    assert "EUR\xa07,135.50" in page


def test_yen_have_no_decimals(client: Client) -> None:
    story = told.active(told.offered(told.audited(told.opened(currency="JPY"))))
    client.force_login(story.finance)
    url = reverse("payment-record", args=[told.billed(story).pk])
    assert 'value="17136"' in client.get(url).content.decode()
    response = client.post(url, sent(amount="100.5"))
    assert "JPY has no decimals" in response.content.decode()
    assert client.post(url, sent(amount="17136")).status_code == 302
