"""The pages of bank reconciliation: import, propose, record, assign, set aside."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements.billing.bank_models import BankImport, BankLine
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.finance.bank_views import PER_PAGE
from engagements.ledger.models import Entry
from tests.engagements import story as stories
from tests.engagements.billing.test_bank_imports import GERMAN_CSV, statement
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.in_force()


@pytest.fixture
def invoice(story: Story) -> Invoice:
    return stories.invoiced(story, 1)


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def upload(fritz: Client, content: bytes, name: str = "bank.xml") -> str:
    """Import a file and return the URL of its page."""
    answer = fritz.post(reverse("bank"), {"file": SimpleUploadedFile(name, content)})
    assert answer.status_code == 302
    return str(answer["Location"])


def test_a_repeated_file_says_so_and_adds_nothing(fritz: Client, invoice: Invoice) -> None:
    content = statement(("10.00", "hello"))
    first = upload(fritz, content)
    assert "notice--warning" not in fritz.get(first).content.decode()
    lines = BankLine.objects.count()
    assert upload(fritz, content, "again.xml") == first
    assert "notice--warning" in fritz.get(first).content.decode()
    assert BankLine.objects.count() == lines


def test_a_file_shows_its_totals_and_what_may_be_there_twice(
    fritz: Client, invoice: Invoice
) -> None:
    first = upload(fritz, statement(("1000.00", "a"), ("-40.00", "b"), ("5.00", "c")))
    page = fritz.get(first).content.decode()
    for figure in ("1,005.00", "40.00", "965.00"):
        assert figure in page
    assert 'id="references"' not in page
    assert "1,005.00 in," in fritz.get(reverse("bank")).content.decode()
    # The bank gives a reference once: on another day it may be the same payment.
    later = fritz.get(upload(fritz, statement(("5.00", "c"), day="2026-01-07"))).content.decode()
    assert 'id="references"' in later
    [line] = BankLine.objects.filter(booked_on="2026-01-07")
    assert reverse("bank-line", args=[line.pk]) in later
    # Other bytes with known lines.
    again = upload(fritz, statement(("5.00", "c"), day="2026-01-07") + b"\n")
    assert "notice--warning" in fritz.get(again).content.decode()


def tokens(page: str) -> list[str]:
    return re.findall(r'name="proposal" value="([^"]+)"', page)


def test_selected_proposals_are_recorded_once_and_changed_ones_are_not(
    fritz: Client, invoice: Invoice
) -> None:
    content = statement(
        ("10000.00", f"{invoice.reference} a"),
        ("7136.00", f"{invoice.reference} b"),
        ("5.00", "hello"),
    )
    for _ in range(2):
        upload(fritz, content)
    page = fritz.get(reverse("bank")).content.decode()
    first, second = tokens(page)
    assert f'for <a href="{reverse("invoice", args=[invoice.pk])}"' in page
    fritz.post(reverse("bank-record"), {"proposal": [first.replace("=1", "=2")]})
    assert not Payment.objects.exists()
    for _ in range(2):
        fritz.post(reverse("bank-record"), {"proposal": [first, second]})
    assert {payment.invoice for payment in Payment.objects.all()} == {invoice}
    assert Payment.objects.count() == 2


def test_the_lines_of_a_long_file_are_paged(fritz: Client) -> None:
    url = upload(fritz, statement(*[(f"{n}.00", f"part {n}.") for n in range(1, PER_PAGE + 2)]))
    first, second = (fritz.get(url, {"page": n}).content.decode() for n in (1, 2))
    assert f"part {PER_PAGE}." in first
    assert f"part {PER_PAGE + 1}." not in first
    assert f"part {PER_PAGE + 1}." in second
    assert f"<dd>{PER_PAGE + 1}</dd>" in second


def test_a_table_asks_for_its_columns_once(fritz: Client) -> None:
    url = upload(fritz, GERMAN_CSV, "august.csv")
    assert "Verwendungszweck" in fritz.get(url).content.decode()
    sent = {
        "booked_on": "0",
        "payer": "1",
        "text": "2",
        "amount": "3",
        "currency_column": "4",
        "currency": "EUR",
        "date_format": "%d.%m.%Y",
        "decimal_mark": ",",
        "account": settings.BANK_ACCOUNT["iban"],
    }
    assert fritz.post(url, sent | {"date_format": "%Y-%m-%d"}).status_code == 422
    assert fritz.post(url, sent).status_code == 302
    rows = fritz.get(url, {"format": "csv"}).content.decode().splitlines()
    assert rows[0].startswith("Booked on,Payer,")
    assert len(rows) == 1 + BankLine.objects.count() == 5
    upload(fritz, GERMAN_CSV + b"03.09.2026;Third;abc;5,00;EUR\n", "later.csv")
    assert BankLine.objects.count() == 5


def test_an_unreadable_file_is_refused_and_an_unparsed_one_can_be_deleted(fritz: Client) -> None:
    answer = fritz.post(reverse("bank"), {"file": SimpleUploadedFile("bank.xml", b"words")})
    assert answer.status_code == 422
    assert not BankImport.objects.exists()
    upload(fritz, GERMAN_CSV, "august.csv")
    pk = BankImport.objects.get().pk
    for _ in range(2):
        fritz.post(reverse("bank-delete", args=[pk]))
    assert not BankImport.objects.exists()


def test_a_line_is_assigned_to_several_invoices(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    second = stories.invoiced(story, 2)
    upload(fritz, statement(("200.00", "hello")))
    line = BankLine.objects.get()
    url = reverse("bank-assign", args=[line.pk])
    page = fritz.get(reverse("bank-line", args=[line.pk])).content.decode()
    assert invoice.reference in page
    sent = {"invoice_1": invoice.pk, "amount_1": "150.00", "invoice_2": second.pk}
    assert fritz.post(url, sent).status_code == 422
    assert fritz.post(url, sent | {"amount_2": "40.00"}).status_code == 422
    assert fritz.post(url, sent | {"amount_2": "50.00"}).status_code == 302
    assert Payment.objects.count() == 2
    page = fritz.get(reverse("bank-line", args=[line.pk])).content.decode()
    assert reverse("invoice", args=[second.pk]) in page


def test_a_line_is_set_aside_with_a_reason(fritz: Client) -> None:
    upload(fritz, statement(("5.00", "tax refund")))
    line = BankLine.objects.get()
    url = reverse("bank-set-aside", args=[line.pk])
    assert fritz.post(url, {"note": " "}).status_code == 422
    assert fritz.post(url, {"note": "Overpaid VAT."}).status_code == 302
    page_of_line = reverse("bank-line", args=[line.pk])
    assert page_of_line not in fritz.get(reverse("bank")).content.decode()
    assert "Overpaid VAT." in fritz.get(page_of_line).content.decode()
    for entry in Entry.objects.filter(engagement=None):
        assert page_of_line in fritz.get(reverse("ledger-entry", args=[entry.pk])).content.decode()
    assert fritz.get(reverse("ledger-account", args=["outside", "EUR"])).status_code == 200
