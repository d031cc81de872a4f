"""Bank files on their pages: shown first, recorded then, by hand where nobody quoted anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements.billing.bank_views import PER_PAGE
from engagements.billing.models import Invoice
from engagements.billing.payment_models import BankImport, BankLine, Payment
from tests.engagements import story as told
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db

GERMAN = Path(__file__).parents[2] / "bank" / "german.csv"


@pytest.fixture
def story() -> Story:
    return told.in_force()


@pytest.fixture
def invoice(story: Story) -> Invoice:
    return told.invoiced(story, 1)


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def hand_in(fritz: Client, content: bytes, name: str = "bank.xml") -> str:
    """The address that handing in a file leads to."""
    answer = fritz.post(reverse("bank"), {"file": SimpleUploadedFile(name, content)})
    assert answer.status_code == 302
    return str(answer["Location"])


def tokens(page: str) -> list[str]:
    return re.findall(r'name="proposal" value="([^"]+)"', page)


def test_what_is_quoted_is_shown_and_then_recorded_once(fritz: Client, invoice: Invoice) -> None:
    content = statement(("17136.00", invoice.reference), ("5.00", "hello"))
    for _ in range(2):
        hand_in(fritz, content)
    page = fritz.get(reverse("bank")).content.decode()
    [proposal] = tokens(page)
    assert f'for <a href="{reverse("invoice", args=[invoice.pk])}"' in page
    assert "No invoice is quoted." in page
    assert not Payment.objects.exists()
    for _ in range(2):
        fritz.post(reverse("bank-record"), {"proposal": [proposal]})
    assert Payment.objects.get().invoice == invoice
    assert "Paid" in fritz.get(reverse("invoice", args=[invoice.pk])).content.decode()


def test_every_ticked_line_is_recorded_and_not_the_first_only(
    fritz: Client, invoice: Invoice
) -> None:
    parts = [(f"{n}.00", f"{invoice.reference} part {n}") for n in range(1, 6)]
    hand_in(fritz, statement(*parts))
    chosen = tokens(fritz.get(reverse("bank")).content.decode())
    fritz.post(reverse("bank-record"), {"proposal": chosen})
    assert Payment.objects.count() == 5


def test_what_a_long_file_brought_comes_in_pages(fritz: Client) -> None:
    url = hand_in(fritz, statement(*[(f"{n}.00", f"part {n}.") for n in range(1, PER_PAGE + 2)]))
    first, second = (fritz.get(url, {"page": n}).content.decode() for n in (1, 2))
    assert "Page 1 of 2" in first
    assert f"part {PER_PAGE}." in first
    assert f"part {PER_PAGE + 1}." not in first
    assert f"part {PER_PAGE + 1}." in second
    assert f"<dd>{PER_PAGE + 1}</dd>" in second


def test_what_changed_since_it_was_shown_is_not_recorded(fritz: Client, invoice: Invoice) -> None:
    hand_in(fritz, statement(("5.00", invoice.reference)))
    [proposal] = tokens(fritz.get(reverse("bank")).content.decode())
    other = proposal.replace("=5", "=6")
    answer = fritz.post(reverse("bank-record"), {"proposal": [other]}, follow=True)
    assert "changed since you looked" in answer.content.decode()
    assert not Payment.objects.exists()


def test_a_table_asks_for_its_columns_once(fritz: Client) -> None:
    url = hand_in(fritz, GERMAN.read_bytes(), "august.csv")
    page = fritz.get(url).content.decode()
    assert "Verwendungszweck" in page
    sent = {
        "booked_on": "0",
        "payer": "1",
        "text": "2",
        "amount": "3",
        "currency_column": "4",
        "currency": "EUR",
        "date_format": "%d.%m.%Y",
        "decimal_mark": ",",
    }
    refused = fritz.post(url, sent | {"date_format": "%Y-%m-%d"})
    assert refused.status_code == 422
    assert "is no day as chosen" in refused.content.decode()
    assert fritz.post(url, sent).status_code == 302
    assert BankLine.objects.count() == 3
    rows = fritz.get(url, {"format": "csv"}).content.decode().splitlines()
    assert rows[0].startswith("Booked on,Payer,")
    assert len(rows) == 4
    url = hand_in(fritz, GERMAN.read_bytes() + b"03.09.2026;Third;abc;5,00;EUR\n", "later.csv")
    assert "Known already" in fritz.get(url).content.decode()
    assert BankLine.objects.count() == 4


def test_a_file_that_is_no_statement_is_refused(fritz: Client) -> None:
    upload = SimpleUploadedFile("bank.xml", b"words")
    answer = fritz.post(reverse("bank"), {"file": upload})
    assert answer.status_code == 422
    assert "This is no table" in answer.content.decode()
    assert not BankImport.objects.exists()


def test_an_unread_file_can_be_thrown_away(fritz: Client) -> None:
    hand_in(fritz, GERMAN.read_bytes(), "august.csv")
    for _ in range(2):
        row = BankImport.objects.first()
        fritz.post(reverse("bank-drop", args=[row.pk if row else 1]))
    assert not BankImport.objects.exists()


def test_money_is_assigned_by_hand_to_several_invoices(
    fritz: Client, story: Story, invoice: Invoice
) -> None:
    second = told.invoiced(story, 2)
    hand_in(fritz, statement(("200.00", "hello")))
    line = BankLine.objects.get()
    url = reverse("bank-assign", args=[line.pk])
    page = fritz.get(reverse("bank-line", args=[line.pk])).content.decode()
    assert invoice.reference in page
    sent = {"invoice_1": invoice.pk, "amount_1": "150.00", "invoice_2": second.pk}
    refused = fritz.post(url, sent)
    assert refused.status_code == 422
    assert "go together" in refused.content.decode()
    refused = fritz.post(url, sent | {"amount_2": "40.00"})
    assert "All of" in refused.content.decode()
    assert fritz.post(url, sent | {"amount_2": "50.00"}).status_code == 302
    assert Payment.objects.count() == 2
    page = fritz.get(reverse("bank-line", args=[line.pk])).content.decode()
    assert "Where it went" in page


def test_money_for_no_invoice_is_set_aside(fritz: Client) -> None:
    hand_in(fritz, statement(("5.00", "tax refund")))
    line = BankLine.objects.get()
    url = reverse("bank-set-aside", args=[line.pk])
    assert fritz.post(url, {"note": " "}).status_code == 422
    assert fritz.post(url, {"note": "A tax refund."}).status_code == 302
    assert "Nothing waits" in fritz.get(reverse("bank")).content.decode()
    assert "A tax refund." in fritz.get(reverse("bank-line", args=[line.pk])).content.decode()
