"""The overview of finance: open tasks and money at risk."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from engagements.billing import payments
from engagements.billing.balances import open_invoices
from engagements.finance import at_risk, invoice_queries
from engagements.finance.invoice_queries import InvoiceStatus
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.settlements.labels import next_step
from tests.engagements import story as stories

pytestmark = pytest.mark.django_db


def overview(client: Client, story: stories.Story) -> str:
    client.force_login(story.finance)
    return client.get(reverse("finance")).content.decode()


def test_an_empty_overview_links_to_nothing(client: Client) -> None:
    page = overview(client, stories.opened())
    for section in ("waiting", "risk", "to-bill", "open-bills", "payments"):
        assert f'id="{section}"' in page
    assert 'class="rows' not in page


def test_payments_without_a_verdict_are_at_risk(client: Client) -> None:
    story = stories.underway()
    (line,) = at_risk.largest(50)
    assert (line.currency, line.estimate) == ("EUR", None)
    assert (line.liability, line.with_tax) == (Decimal("7900.00"), Decimal("9401.00"))
    stories.measured(story, 1.6, purpose="trial")
    trial = stories.measured(story, 1.9, purpose="trial")
    (line,) = at_risk.largest(50)
    assert line.estimate is not None
    assert line.estimate.run == trial
    page = overview(client, story)
    assert "EUR\xa09,401.00" in page
    assert "BANK-1" in page
    assert [payment.reference for payment in payments.recent_payments()] == ["BANK-1"]


def test_a_met_target_ends_the_risk() -> None:
    stories.met()
    assert at_risk.largest(50) == []


def test_a_missed_target_is_in_the_queue_until_the_refund_is_sent(client: Client) -> None:
    story = stories.missed()
    url = reverse("settlement", args=[story.settlement.pk])
    for step in (
        stories.approved,
        lambda story: refunds.start_payment(settlement=story.settlement, by=story.finance),
    ):
        page = overview(client, story)
        assert url in page
        assert escape(next_step(story.settlement)) in page
        step(story)
    assert at_risk.largest(50) == []


def test_a_voided_settlement_is_to_be_proposed_again(client: Client) -> None:
    story = stories.missed()
    settlements.void(settlement=story.settlement, reason="Wrong", by=story.second)
    url = reverse("settlement-propose", args=[story.reference])
    assert url in overview(client, story)
    settlements.propose(contract=story.contract, reason="missed", by=story.finance)
    assert url not in overview(client, story)


def test_invoices_of_a_settled_contract_are_not_open() -> None:
    later = timezone.localdate() + timedelta(days=90)
    story = stories.underway()
    stories.billed(story, 2)

    def found() -> list[int]:
        lists = [
            invoice_queries.found_invoices(today=later, status=status)
            for status in (InvoiceStatus.OPEN, InvoiceStatus.OVERDUE)
        ]
        return [len(rows) for rows in (open_invoices(), *lists)]

    assert found() == [1, 1, 1]
    stories.measured(story, 1.1)
    assert found() == [0, 0, 0]


def test_an_admin_is_offered_no_action(client: Client) -> None:
    story = stories.in_force()
    client.force_login(story.admin)
    assert story.reference in client.get(reverse("finance")).content.decode()
    page = client.get(reverse("to-bill")).content.decode()
    assert story.reference in page
    assert 'name="milestone"' not in page
