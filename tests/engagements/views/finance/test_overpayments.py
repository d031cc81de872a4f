"""What is too much of an invoice, on finance's pages: shown, moved, paid back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.models import Invoice, Payment
from engagements.queries.balances import balance_of
from engagements.services import payments
from tests.engagements.views import story as told
from tests.engagements.views.signing_in import as_just_signed_in
from tests.engagements.views.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return told.active(told.offered(told.audited(told.opened())))


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


def test_paying_back_asks_for_the_password_shows_what_it_posts_and_is_noted_once(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    url = reverse("overpayment-pay-back", args=[invoice.pk])
    day = timezone.localdate().isoformat()
    data = {"amount": "2,864.00", "paid_on": day, "reference": "SEPA-9"}
    story.finance.set_password("a long enough sentence of words")
    story.finance.save()
    fritz.force_login(story.finance)
    asked = fritz.post(url, data | {"act": "yes"})
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    as_just_signed_in(fritz, story.finance)
    page = fritz.post(url, data).content.decode()
    assert "Overpayment paid back" in page
    assert "Receivables from customers" in page
    assert Payment.objects.count() == 1
    for _ in range(2):
        assert fritz.post(url, data | {"act": "yes"}).status_code == 302
    assert Payment.objects.get(kind="paid_back").amount == Decimal(-2864)
    account = page_of(fritz, "customer-account", story.customer.pk)
    assert "Overpayment paid back" in account


@pytest.mark.parametrize(
    ("route", "changed", "said"),
    [
        ("move", {"amount": "2864.01"}, "would be more"),
        ("move", {"to": "0"}, "Choose an invoice."),
        ("pay-back", {"amount": "3000"}, "would be more"),
        ("pay-back", {"paid_on": "2999-01-01"}, "not before"),
        ("pay-back", {"reference": ""}, "Enter the reference"),
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
    as_just_signed_in(fritz, story.finance)
    day = timezone.localdate().isoformat()
    data = {"amount": "5.00", "reference": "R-1", "act": "yes"}
    data |= {"to": str(told.invoiced(story, 2).pk)} if route == "move" else {"paid_on": day}
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
