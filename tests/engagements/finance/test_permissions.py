"""Access to finance: finance edits, admins read, nobody else gets in."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import bank_imports
from engagements.billing.bank_models import BankLine
from engagements.payouts.overpayment_models import OverpaymentRefund
from tests.engagements import story as stories
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.missed()


def bank_line(story: Story) -> BankLine:
    """A line of an imported bank statement, the same one every time."""
    known = BankLine.objects.first()
    if known is not None:
        return known
    content = statement(("10.00", "whatever"))
    imported = bank_imports.import_file(filename="bank.xml", content=content, by=story.finance)
    return imported.lines.get()


def pages(story: Story) -> list[str]:
    invoice, draft = story.invoice.pk, stories.drafted(story).pk
    return [
        reverse("finance"),
        reverse("to-bill"),
        reverse("invoices"),
        reverse("invoice", args=[invoice]),
        reverse("invoice", args=[draft]),
        reverse("invoice-credit", args=[invoice]),
        reverse("payment-record", args=[invoice]),
        reverse("overpayment", args=[invoice]),
        reverse("customer-account", args=[story.customer.pk]),
        reverse("payments"),
        reverse("bank"),
        reverse("bank-import", args=[bank_line(story).bank_import_id]),
        reverse("bank-line", args=[bank_line(story).pk]),
        reverse("settlement", args=[story.settlement.pk]),
        reverse("settlement-propose", args=[story.reference]),
        reverse("settlements"),
        reverse("transfers"),
        reverse("bank-account", args=[story.customer.pk]),
        reverse("ledger"),
        reverse("ledger-account", args=["bank", "EUR"]),
        reverse("ledger-engagement", args=[story.reference]),
        reverse("ledger-entry", args=[story.engagement.entries.latest("pk").pk]),
        reverse("money-at-risk"),
        reverse("receivables"),
        reverse("vat"),
        reverse("customer-statement", args=[story.customer.pk]),
        reverse("write-off", args=[invoice]),
        reverse("ledger-close"),
        reverse("ledger-export"),
    ]


def proposed_refund(story: Story) -> OverpaymentRefund:
    """A proposed refund of an overpayment."""
    found = OverpaymentRefund.objects.filter(invoice=story.invoice).first()
    return found or OverpaymentRefund.objects.create(
        invoice=story.invoice, amount=Decimal(1), proposed_by=story.second
    )


def actions(story: Story) -> list[str]:
    invoice, settlement = story.invoice.pk, story.settlement.pk
    draft = stories.drafted(story).pk
    return [
        reverse("to-bill"),
        reverse("drafts-issue"),
        reverse("bank"),
        reverse("bank-record"),
        reverse("bank-delete", args=[bank_line(story).bank_import_id]),
        reverse("bank-assign", args=[bank_line(story).pk]),
        reverse("bank-set-aside", args=[bank_line(story).pk]),
        reverse("bank-set-aside-many"),
        reverse("bank-exchange", args=[bank_line(story).pk]),
        reverse("write-off", args=[story.invoice.pk]),
        reverse("bank-match", args=[bank_line(story).pk]),
        reverse("invoice-issue", args=[draft]),
        reverse("invoice-discard", args=[draft]),
        reverse("credit-note-issue", args=[draft]),
        reverse("invoice-purchase-order", args=[draft]),
        reverse("invoice-credit", args=[invoice]),
        reverse("payment-record", args=[invoice]),
        reverse("overpayment-move", args=[invoice]),
        reverse("overpayment-refund", args=[invoice]),
        *(
            reverse(f"overpayment-refund-{step}", args=[proposed_refund(story).pk])
            for step in ("send", "paid", "failed", "void")
        ),
        reverse("settlement-propose", args=[story.reference]),
        reverse("ledger-close"),
        reverse("transfers"),
        reverse("bank-account", args=[story.customer.pk]),
        *(
            reverse(f"settlement-{step}", args=[settlement])
            for step in ("approve", "start", "paid", "failed", "void", "resolve")
        ),
    ]


def test_each_role_gets_its_status_on_every_route(client: Client, story: Story) -> None:
    sign_in = reverse("account_login")
    to_read, to_act = pages(story), actions(story)
    for url in to_read:
        assert client.get(url)["Location"] == f"{sign_in}?next={url}"
    for url in to_act:
        assert client.post(url)["Location"].startswith(sign_in)
    for person, reads, acts in (
        (story.finance, 200, None),
        (story.admin, 200, 403),
        (story.consultant, 403, 403),
        (story.signatory, 404, 404),
        (story.stranger, 404, 404),
    ):
        client.force_login(person)
        for url in to_read:
            assert client.get(url).status_code == reads, (person, url)
        for url in to_act if acts else ():
            assert client.post(url).status_code == acts, (person, url)


def test_actions_need_a_post(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    assert client.get(reverse("settlement-approve", args=[story.settlement.pk])).status_code == 405
