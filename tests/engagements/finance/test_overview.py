"""The start page of finance: what waits, what might go back, what to bill."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import payment_queries
from engagements.billing.balances import open_invoices
from engagements.common import money
from engagements.finance import invoice_queries
from engagements.finance import queries as finance
from engagements.finance.invoice_queries import InvoiceStatus
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements import story as told

pytestmark = pytest.mark.django_db


def overview(client: Client, story: told.Story) -> str:
    client.force_login(story.finance)
    return client.get(reverse("finance")).content.decode()


def test_an_empty_house_has_nothing_waiting(client: Client) -> None:
    page = overview(client, told.opened())
    for words in (
        "No settlement waits",
        "Nothing is at risk",
        "Nothing to bill",
        "No invoice is open",
    ):
        assert words in page


def test_payments_with_an_open_verdict_are_at_risk(client: Client) -> None:
    story = told.underway()
    (line,) = finance.money_at_risk()
    assert (line.currency, line.received) == ("EUR", Decimal("17136.00"))
    assert line.could_go_back == Decimal("9401.00")
    assert line.estimate is None
    assert "Nothing measured yet" in overview(client, story)


def test_the_latest_estimate_stands_beside_the_money(client: Client) -> None:
    story = told.underway()
    told.measured(story, 1.6, purpose="trial")
    trial = told.measured(story, 1.9, purpose="trial")
    (line,) = finance.money_at_risk()
    assert line.estimate is not None
    assert line.estimate.run == trial
    assert "Trial run" in overview(client, story)


def test_a_met_target_ends_the_risk() -> None:
    told.met()
    assert finance.money_at_risk() == []


def test_a_missed_target_stays_at_risk_until_the_money_is_on_its_way() -> None:
    story = told.missed()
    assert len(finance.money_at_risk()) == 1
    told.approved(story)
    assert len(finance.money_at_risk()) == 1
    refunds.start_payment(settlement=story.settlement, by=story.finance)
    assert finance.money_at_risk() == []


def test_a_settlement_waits_and_says_for_whom(client: Client) -> None:
    story = told.missed()
    assert "Anybody of finance: check and approve" in overview(client, story)
    told.approved(story)
    assert "Finance: make the transfer" in overview(client, story)
    settlements.void(settlement=story.settlement, reason="Wrong", by=story.second)
    assert "it was set aside, propose it anew" in overview(client, story)
    settlements.propose(contract=story.contract, reason="missed", by=story.finance)
    assert "Finance, but not Fritz Finance: check and approve" in overview(client, story)


def test_bills_of_a_settled_contract_are_not_open() -> None:
    story = told.underway()
    told.billed(story, 2)
    assert len(open_invoices()) == 1
    told.measured(story, 1.1)
    assert not open_invoices()


def test_the_lists_hold_what_the_overview_counts() -> None:
    later = timezone.localdate() + timedelta(days=90)
    story = told.underway()
    told.billed(story, 2)
    for standing in (InvoiceStatus.OPEN, InvoiceStatus.OVERDUE):
        assert len(invoice_queries.found_invoices(today=later, standing=standing)) == 1
    told.measured(story, 1.1)
    for standing in (InvoiceStatus.OPEN, InvoiceStatus.OVERDUE):
        assert not invoice_queries.found_invoices(today=later, standing=standing)


def test_currencies_are_never_added_up() -> None:
    totals = money.totals_by_currency(
        [("JPY", Decimal(5)), ("EUR", Decimal("1.50")), ("EUR", Decimal("2.50"))]
    )
    assert totals == [("EUR", Decimal("4.00")), ("JPY", Decimal(5))]


def test_recent_payments_name_bill_and_day(client: Client) -> None:
    story = told.underway()
    page = overview(client, story)
    assert "BANK-1" in page
    assert [payment.reference for payment in payment_queries.recent_payments()] == ["BANK-1"]


def test_an_admin_is_offered_no_action(client: Client) -> None:
    story = told.in_force()
    client.force_login(story.admin)
    page = client.get(reverse("finance")).content.decode()
    assert "Contract signed" in page
    page = client.get(reverse("to-bill")).content.decode()
    assert "Contract signed" in page
    assert "Collect on drafts" not in page
