"""Payment pages: record a payment; search, total and download payments."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.payouts import overpayment_refunds
from tests.engagements import story as stories
from tests.engagements.story import Story
from tests.engagements.world import received

pytestmark = pytest.mark.django_db


@pytest.fixture
def invoice(client: Client) -> Invoice:
    story = stories.in_force()
    client.force_login(story.finance)
    return stories.invoiced(story, 1)


def page_of(invoice: Invoice) -> str:
    return reverse("payment-record", args=[invoice.pk])


def sent(**changed: str) -> dict[str, str]:
    day = timezone.localdate() - timedelta(days=1)
    return {"amount": "17136.00", "received_on": day.isoformat(), "reference": "SEPA-1"} | changed


def test_the_offered_amount_is_recorded_once(client: Client, invoice: Invoice) -> None:
    assert 'value="17136.00"' in client.get(page_of(invoice)).content.decode()
    for _ in range(2):
        assert client.post(page_of(invoice), sent()).status_code == 302
    assert Payment.objects.get().amount == Decimal("17136.00")


def test_amounts_in_any_notation_are_partial_payments(client: Client, invoice: Invoice) -> None:
    for number, typed in enumerate(("1000.50", "1,000.50", "1.000,50", "EUR 1 000,50")):
        answer = client.post(page_of(invoice), sent(amount=typed, reference=f"P-{number}"))
        assert answer.status_code == 302, typed
    assert {payment.amount for payment in Payment.objects.all()} == {Decimal("1000.50")}
    assert "EUR\xa013,134.00" in client.get(reverse("finance")).content.decode()


def test_an_invalid_payment_is_declined_and_the_input_kept(
    client: Client, invoice: Invoice
) -> None:
    for changed in (
        {"amount": "17.136"},
        {"amount": "17136.01"},
        {"amount": ""},
        {"amount": "USD 5.00"},
        {"received_on": "2999-01-01"},
        {"received_on": "31.02."},
        {"reference": " "},
    ):
        response = client.post(page_of(invoice), sent(**changed))
        page = response.content.decode()
        assert response.status_code == 422, changed
        for value in sent(**changed).values():
            assert f'value="{value}"' in page or not value.strip()
    assert not Payment.objects.exists()


def test_an_overpayment_needs_confirmation(client: Client, invoice: Invoice) -> None:
    over = sent(amount="20000.00", may_exceed="on")
    assert client.post(page_of(invoice), over).status_code == 302
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert "−EUR\xa02,864.00" in page


def test_a_draft_accepts_no_payment(client: Client) -> None:
    story = stories.in_force()
    client.force_login(story.finance)
    url = page_of(stories.drafted(story))
    assert 'name="amount"' not in client.get(url).content.decode()
    assert client.post(url, sent()).status_code == 422


def test_yen_have_no_decimals(client: Client) -> None:
    story = stories.in_force(currency="JPY")
    client.force_login(story.finance)
    url = page_of(stories.invoiced(story, 1))
    assert 'value="17136"' in client.get(url).content.decode()
    assert client.post(url, sent(amount="100.5")).status_code == 422
    assert client.post(url, sent(amount="17136")).status_code == 302


@pytest.fixture
def story(client: Client) -> Story:
    """A payment of yesterday, and one of today of which 864.00 is refunded."""
    story = stories.underway()
    second = stories.invoiced(story, 2)
    received(
        invoice=second,
        amount=second.gross + 864,
        received_on=timezone.localdate(),
        reference="=SEPA-2",
        by=story.finance,
        confirmed_by=story.second,
        may_exceed=True,
    )
    row = overpayment_refunds.propose(invoice=second, amount=Decimal(864), by=story.finance)
    overpayment_refunds.send(refund=row, by=story.second)
    client.force_login(story.finance)
    return story


def listed(client: Client, **query: str) -> list[str]:
    response = client.get(reverse("payments"), query)
    assert response.status_code == 200
    return [payment.reference for payment in response.context["listed"]]


def test_payments_are_searched_totalled_and_downloaded(client: Client, story: Story) -> None:
    refund = Payment.objects.get(kind="paid_back").reference
    assert listed(client) == [refund, "=SEPA-2", "BANK-1"]
    yesterday, today = (str(timezone.localdate() - timedelta(days=n)) for n in (1, 0))
    for query, found in (
        ({"q": "bank-1"}, ["BANK-1"]),
        ({"q": story.reference.lower()}, [refund, "=SEPA-2", "BANK-1"]),
        ({"q": "nothing like it"}, []),
        ({"kind": "paid_back"}, [refund]),
        ({"since": today}, [refund, "=SEPA-2"]),
        ({"until": yesterday}, ["BANK-1"]),
        ({"since": yesterday, "until": yesterday, "q": "longprompt"}, ["BANK-1"]),
        # An invalid field does not filter.
        ({"since": "soon", "kind": "received"}, ["=SEPA-2", "BANK-1"]),
    ):
        assert listed(client, **query) == found, query
    total = sum(payment.amount for payment in Payment.objects.all())
    assert f"EUR\xa0{total:,.2f}" in client.get(reverse("payments")).content.decode()
    response = client.get(reverse("payments"), {"kind": "received", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [row["Reference"] for row in rows] == ["'=SEPA-2", "BANK-1"]
    assert (rows[1]["Amount"], rows[1]["Recorded by"]) == ("17136.00", "Fritz Finance")


def test_a_longer_list_takes_no_more_queries(client: Client, story: Story) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as context:
            client.get(reverse("payments"))
        return len(context)

    before = count()
    for number in range(3):
        received(
            invoice=story.invoice,
            amount=Decimal(1),
            received_on=timezone.localdate(),
            reference=f"MORE-{number}",
            by=story.finance,
            confirmed_by=story.second,
            may_exceed=True,
        )
    assert count() == before
