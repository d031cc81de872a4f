"""Every route of finance: finance acts, admins read, nobody else gets in."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import bank_imports
from engagements.billing.payment_models import BankLine
from engagements.payouts.models import OverpaymentRefund
from tests.engagements import story as told
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return told.missed()


def bank_line(story: Story) -> BankLine:
    """Money of the customer's that came in by a bank file."""
    content = statement(("10.00", "whatever"))
    taken = bank_imports.take_in(filename="bank.xml", content=content, by=story.finance)
    return taken.lines.get()


def pages(story: Story) -> list[str]:
    invoice, draft = story.invoice.pk, told.drafted(story).pk
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
        reverse("ledger-close"),
        reverse("ledger-export"),
    ]


def going_back(story: Story) -> OverpaymentRefund:
    """An overpayment that somebody proposed to pay back."""
    found = OverpaymentRefund.objects.filter(invoice=story.invoice).first()
    return found or OverpaymentRefund.objects.create(
        invoice=story.invoice, amount=Decimal(1), proposed_by=story.second
    )


def acts(story: Story) -> list[str]:
    invoice, settlement = story.invoice.pk, story.settlement.pk
    draft = told.drafted(story).pk
    return [
        reverse("to-bill"),
        reverse("drafts-issue"),
        reverse("bank"),
        reverse("bank-record"),
        reverse("bank-drop", args=[bank_line(story).bank_import_id]),
        reverse("bank-assign", args=[bank_line(story).pk]),
        reverse("bank-set-aside", args=[bank_line(story).pk]),
        reverse("invoice-issue", args=[draft]),
        reverse("invoice-discard", args=[draft]),
        reverse("invoice-credit", args=[invoice]),
        reverse("payment-record", args=[invoice]),
        reverse("overpayment-move", args=[invoice]),
        reverse("overpayment-refund", args=[invoice]),
        *(
            reverse(f"overpayment-refund-{step}", args=[going_back(story).pk])
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


def test_finance_opens_every_page(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    for url in pages(story):
        assert client.get(url).status_code == 200, url


def test_an_admin_reads_and_does_not_act(client: Client, story: Story) -> None:
    client.force_login(story.admin)
    for url in pages(story):
        assert client.get(url).status_code == 200, url
    for url in acts(story):
        assert client.post(url).status_code == 403, url
    page = client.get(reverse("settlement", args=[story.settlement.pk])).content.decode()
    assert "Only finance acts on settlements." in page


def test_a_consultant_is_told_no(client: Client, story: Story) -> None:
    client.force_login(story.consultant)
    for url in pages(story):
        assert client.get(url).status_code == 403, url
    for url in acts(story):
        assert client.post(url).status_code == 403, url


def test_to_customers_finance_does_not_exist(client: Client, story: Story) -> None:
    for person in (story.signatory, story.stranger):
        client.force_login(person)
        for url in pages(story):
            assert client.get(url).status_code == 404, url
        for url in acts(story):
            assert client.post(url).status_code == 404, url


def test_an_anonymous_reader_is_sent_to_sign_in(client: Client, story: Story) -> None:
    sign_in = reverse("account_login")
    for url in pages(story):
        assert client.get(url)["Location"] == f"{sign_in}?next={url}"
    for url in acts(story):
        assert client.post(url)["Location"].startswith(sign_in)


def test_a_step_is_never_taken_by_reading(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    assert client.get(reverse("settlement-approve", args=[story.settlement.pk])).status_code == 405
