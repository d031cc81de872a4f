"""A customer sees its issued invoices, their balance and how to pay."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import documents
from engagements.billing import credit_notes, invoices
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.workbench.next_step import next_step
from engagements.workbench.summary import summary_of
from tests.engagements import story as stories
from tests.engagements.world import World, received

pytestmark = pytest.mark.django_db


def shown(client: Client, story: stories.Story) -> str:
    client.force_login(story.viewer)
    return client.get(reverse("portal-invoices", args=[story.reference])).content.decode()


def test_before_the_first_invoice_there_is_none(client: Client) -> None:
    story = stories.in_force()
    draft = invoices.draft(milestones=[story.milestone(1)], by=story.finance)
    page = shown(client, story)
    assert settings.BANK_ACCOUNT["iban"] not in page
    assert str(draft.gross) not in page


def test_the_customer_sees_invoices_credit_notes_and_the_balance(client: Client) -> None:
    story = stories.underway()
    second = stories.invoiced(story, 2)
    note = credit_notes.credit(invoice=second, net=Decimal(500), reason="A week late.")
    document = documents.issue(kind="invoice", subject=f"invoice:{second.pk}")
    page = shown(client, story)
    for text in (story.invoice.reference, second.reference, note.reference, "A week late."):
        assert text in page
    assert reverse("document", args=[document.pk]) in page
    assert "EUR\xa07,140.00" in page
    assert settings.BANK_ACCOUNT["iban"] in page
    client.force_login(story.stranger)
    assert client.get(reverse("document", args=[document.pk])).status_code == 404
    assert client.get(reverse("portal-invoices", args=[story.reference])).status_code == 404


def test_an_overpayment_is_shown(client: Client) -> None:
    story = stories.in_force()
    received(
        invoice=stories.invoiced(story, 1),
        amount=Decimal(20000),
        received_on=timezone.localdate(),
        reference="P-1",
        by=story.finance,
        confirmed_by=story.second,
        may_exceed=True,
    )
    page = shown(client, story)
    assert "<dd>EUR\xa02,864.00</dd>" in page
    assert '<td class="is-number">EUR\xa02,864.00</td></tr></tfoot>' in page


def test_a_settled_invoice_asks_for_nothing(client: Client, world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    audit = world.invoice(contract.milestones.get(position=2))
    world.conclude(world.request(contract), "missed")
    client.force_login(world.viewer)
    address = reverse("portal-invoices", args=[contract.engagement.reference])
    for _ in ("proposed", "approved"):
        page = client.get(address).content.decode()
        assert audit.reference in page
        for due in (settings.BANK_ACCOUNT["iban"], "<dt>Open</dt>", "Overdue"):
            assert due not in page, due
        settlements.approve(settlement=contract.settlements.get(), by=world.finance)


def test_the_balance_due_after_a_settlement_is_shown(client: Client, world: World) -> None:
    settlement = world.settlement(paid=0)
    engagement = settlement.contract_version.engagement
    settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="B-1", by=world.controller)
    assert next_step(summary_of(engagement)).who_label == "finance"
    world.invoice(settlement.contract_version.milestones.get(position=2))
    assert next_step(summary_of(engagement)).who_label == world.customer.name
    client.force_login(world.viewer)
    for name in ("portal-invoices", "portal-engagement"):
        page = client.get(reverse(name, args=[engagement.reference])).content.decode()
        assert "EUR\xa07,140.00" in page, name
        assert "EUR\xa00.00 to pay" not in page
