"""What goes back to the customer, in the customer's words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from django.test import Client

from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.payouts import refund_accounts, refunds
from engagements.settlements import services as settlements
from tests.engagements import story as stories
from tests.engagements.portal.test_engagement import page_of

pytestmark = pytest.mark.django_db


def test_a_missed_target_shows_refund_and_due_date(client: Client) -> None:
    story = stories.missed()
    assert "EUR\xa09,401.00" not in page_of(client, story)
    stories.approved(story)
    page = page_of(client, story)
    assert "EUR\xa017,136.00" in page
    assert "EUR\xa09,401.00" in page
    refunds.start_payment(settlement=story.settlement, by=story.finance)
    refunds.mark_failed(settlement=story.settlement, reason="IBAN typo", by=story.second)
    failed = page_of(client, story)
    assert "IBAN typo" not in failed
    refunds.mark_paid(settlement=story.settlement, reference="SEPA-77", by=story.finance)
    assert "SEPA-77" in page_of(client, story)


def test_the_customer_reads_by_when_the_refund_is_paid_and_whether_it_is_late(
    client: Client, on_day: Callable[[date], None]
) -> None:
    story = stories.missed()
    due_on = story.settlement.refund_due_on
    assert due_on is not None
    page = page_of(client, story)
    assert in_words(due_on) in page
    assert "Late" not in page
    refund_accounts.add(
        customer=story.customer,
        holder="Longprompt GmbH",
        iban="DE02120300000000202051",
        bic="",
        by=story.signatory,
    )
    page = page_of(client, story)
    assert "DE02120300000000202051" in page
    on_day(due_on + timedelta(days=1))
    assert "Late" in page_of(client, story)


def test_without_a_refund_no_transfer_is_announced(client: Client) -> None:
    story = stories.in_force()
    bill = stories.invoiced(story, 1)
    stories.measured(story, 1.1)
    assert story.settlement.balance_due > 0
    refund = format_money(story.settlement.payments_received, story.settlement.currency)
    assert refund not in page_of(client, story)
    stories.approved(story)
    page = page_of(client, story)
    assert format_money(story.settlement.balance_due, story.settlement.currency) in page
    assert bill.reference in page


def test_no_figure_reaches_the_customer_before_a_second_person_approved_it(
    client: Client,
) -> None:
    story = stories.missed()
    refund = format_money(story.settlement.refund, story.settlement.currency)
    assert refund not in page_of(client, story)
    stories.approved(story)
    assert refund in page_of(client, story)


def test_a_voided_settlement_was_never_anything_to_the_customer(client: Client) -> None:
    story = stories.missed()
    settlements.void(settlement=story.settlement, reason="Wrong figures, oops", by=story.finance)
    page = page_of(client, story)
    assert 'id="settlement"' not in page
    assert "oops" not in page
