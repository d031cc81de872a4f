"""The customer's invoices: its own, once they are issued, with what is open of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import documents
from engagements.billing import credit_notes, invoices, payments
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.workbench.next_step import next_step
from engagements.workbench.summary import summary_of
from tests.engagements import story as told
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def shown(client: Client, story: told.Story) -> str:
    client.force_login(story.viewer)
    return client.get(reverse("portal-invoices", args=[story.reference])).content.decode()


def test_before_the_first_invoice_there_is_none(client: Client) -> None:
    story = told.in_force()
    draft = invoices.draft(milestones=[story.milestone(1)], by=story.finance)
    page = shown(client, story)
    assert "No invoice yet" in page
    assert "How to pay" not in page
    assert str(draft.gross) not in page


def test_the_customer_sees_invoices_credit_notes_and_the_balance(client: Client) -> None:
    story = told.underway()
    second = told.invoiced(story, 2)
    note = credit_notes.credit(
        invoice=second, net=Decimal(500), reason="A week late.", by=story.finance
    )
    document = documents.issue(kind="invoice", subject=f"invoice:{second.pk}")
    page = shown(client, story)
    for text in (story.invoice.reference, second.reference, note.reference, "A week late."):
        assert text in page
    assert reverse("document", args=[document.pk]) in page
    assert "You owe" in page
    assert "EUR\xa07,140.00" in page
    assert settings.BANK_ACCOUNT["iban"] in page
    client.force_login(story.stranger)
    assert client.get(reverse("document", args=[document.pk])).status_code == 404
    assert client.get(reverse("portal-invoices", args=[story.reference])).status_code == 404


def test_a_customer_who_paid_too_much_reads_how_much_and_what_becomes_of_it(client: Client) -> None:
    story = told.in_force()
    payments.record(
        invoice=told.invoiced(story, 1),
        amount=Decimal(20000),
        received_on=timezone.localdate(),
        reference="P-1",
        by=story.finance,
        may_exceed=True,
    )
    page = shown(client, story)
    assert "<dt>Too much</dt><dd>EUR\xa02,864.00</dd>" in page
    assert "We put the rest to another one or pay it back." in page
    assert "We owe you" in page
    assert '<td class="is-number">EUR\xa02,864.00</td></tr></tfoot>' in page


def test_what_the_settlement_keeps_is_not_asked_for_once_more(client: Client, world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    audit = world.invoice(contract.milestones.get(position=2))
    world.conclude(world.request(contract), "missed")
    client.force_login(world.viewer)
    address = reverse("portal-invoices", args=[contract.engagement.reference])
    for _ in ("proposed", "approved"):
        page = client.get(address).content.decode()
        assert audit.reference in page
        for asked in ("How to pay", "You owe", "<dt>Open</dt>", "Overdue"):
            assert asked not in page, asked
        settlements.approve(settlement=contract.settlements.get(), by=world.finance)


def test_what_a_settlement_leaves_due_is_asked_for_on_every_page(
    client: Client, world: World
) -> None:
    settlement = world.settlement(paid=0)
    engagement = settlement.contract_version.engagement
    settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="B-1", by=world.finance)
    assert "Bill the audit" in next_step(summary_of(engagement)).text
    world.invoice(settlement.contract_version.milestones.get(position=2))
    assert next_step(summary_of(engagement)).text == "Pay what is billed."
    client.force_login(world.viewer)
    for name in ("portal-invoices", "portal-engagement"):
        page = client.get(reverse(name, args=[engagement.reference])).content.decode()
        assert "EUR\xa07,140.00" in page, name
        assert "EUR\xa00.00 to pay" not in page
