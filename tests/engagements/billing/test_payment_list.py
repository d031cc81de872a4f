"""The list of payments: found, narrowed in the address, downloaded, added up."""

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

from engagements.billing import payments
from engagements.billing.payment_models import Payment
from engagements.payouts import overpayment_refunds
from tests.engagements import story as told
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    """One payment as asked, received yesterday, and one of today with 864.00 too much, sent
    back."""
    story = told.underway()
    second = told.invoiced(story, 2)
    payments.record(
        invoice=second,
        amount=second.gross + 864,
        received_on=timezone.localdate(),
        reference="=SEPA-2",
        by=story.finance,
        may_exceed=True,
    )
    row = overpayment_refunds.propose(invoice=second, amount=Decimal(864), by=story.finance)
    overpayment_refunds.send(refund=row, by=story.second)
    return story


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def listed(client: Client, **query: str) -> list[str]:
    response = client.get(reverse("payments"), query)
    assert response.status_code == 200
    return [payment.reference for payment in response.context["listed"]]


def test_payments_are_found_by_what_a_statement_names(fritz: Client, story: Story) -> None:
    back = Payment.objects.get(kind="paid_back").reference
    assert listed(fritz) == [back, "=SEPA-2", "BANK-1"]
    yesterday, today = (str(timezone.localdate() - timedelta(days=n)) for n in (1, 0))
    for query, found in (
        ({"q": "bank-1"}, ["BANK-1"]),
        ({"q": story.reference.lower()}, [back, "=SEPA-2", "BANK-1"]),
        ({"q": "nothing like it"}, []),
        ({"kind": "paid_back"}, [back]),
        ({"since": today}, [back, "=SEPA-2"]),
        ({"until": yesterday}, ["BANK-1"]),
        ({"since": yesterday, "until": yesterday, "q": "longprompt"}, ["BANK-1"]),
    ):
        assert listed(fritz, **query) == found, query


def test_what_cannot_be_read_is_said_and_narrows_nothing(fritz: Client) -> None:
    page = fritz.get(reverse("payments"), {"since": "soon", "kind": "received"})
    assert "Enter a day as in 2026-03-31." in page.content.decode()
    assert len(page.context["listed"]) == 2


def test_where_nothing_matches_all_are_offered(fritz: Client) -> None:
    page = fritz.get(reverse("payments"), {"q": "nothing like it"}).content.decode()
    assert "Nothing matches" in page
    assert "Show all" in page


def test_they_add_up_and_are_downloaded_as_found(fritz: Client, story: Story) -> None:
    page = fritz.get(reverse("payments")).content.decode()
    total = sum(payment.amount for payment in Payment.objects.all())
    assert f"EUR\xa0{total:,.2f}" in page
    response = fritz.get(reverse("payments"), {"kind": "received", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [row["Reference"] for row in rows] == ["'=SEPA-2", "BANK-1"]
    assert rows[1]["Amount"] == "17136.00"
    assert rows[1]["Recorded by"] == "Fritz Finance"


def test_a_longer_list_asks_no_more_of_the_database(fritz: Client, story: Story) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as context:
            fritz.get(reverse("payments"))
        return len(context)

    before = asked()
    for number in range(3):
        payments.record(
            invoice=story.invoice,
            amount=Decimal(1),
            received_on=timezone.localdate(),
            reference=f"MORE-{number}",
            by=story.finance,
            may_exceed=True,
        )
    assert asked() == before


def test_before_the_first_payment_the_bank_is_where_to_go(client: Client) -> None:
    story = told.in_force()
    client.force_login(story.finance)
    page = client.get(reverse("payments")).content.decode()
    assert "No payment yet" in page
    assert reverse("bank") in page
