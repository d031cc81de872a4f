"""From a released milestone to an invoice, and what corrects it: each first shown, then done."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import credit_notes, invoices
from engagements.billing.models import Invoice
from engagements.people.models import Customer
from engagements.settlements import services as settlements
from tests.engagements import story as told
from tests.engagements.story import Story
from tests.engagements.world import World, days

pytestmark = pytest.mark.django_db

D = Decimal
BADGE = re.compile(r'<span class="badge.*?</span>', re.S)


@pytest.fixture
def story() -> Story:
    return told.in_force()


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def collected(fritz: Client, story: Story, *positions: int) -> Invoice:
    """A draft as the page makes it."""
    chosen = [story.milestone(position).pk for position in positions]
    answer = fritz.post(reverse("to-bill"), {"milestone": chosen})
    draft = Invoice.objects.get(state="draft")
    assert answer["Location"] == reverse("invoice", args=[draft.pk])
    return draft


def seen(page: str) -> str:
    """The digest that a draft's page sends along."""
    found = re.search(r'name="seen" value="(sha256:[0-9a-f]{64})"', page)
    assert found
    return found[1]


def test_several_milestones_become_one_invoice_that_was_shown_before(
    fritz: Client, story: Story
) -> None:
    assert "Contract signed" in fritz.get(reverse("to-bill")).content.decode()
    draft = collected(fritz, story, 1, 2)
    page = fritz.get(reverse("invoice", args=[draft.pk])).content.decode()
    for text in ("Longprompt GmbH", "EUR\xa024,871.00", "With an e-invoice inside"):
        assert text in page
    sent = {"seen": seen(page)}
    for _ in range(2):
        assert fritz.post(reverse("invoice-issue", args=[draft.pk]), sent).status_code == 302
    issued = Invoice.objects.get()
    assert (issued.number, issued.gross) == (1, D("24871.00"))
    page = fritz.get(reverse("invoice", args=[issued.pk])).content.decode()
    assert issued.reference in page
    assert "the PDF is being made" in page


def test_what_changed_since_it_was_shown_is_not_issued(fritz: Client, story: Story) -> None:
    draft = collected(fritz, story, 1)
    url = reverse("invoice", args=[draft.pk])
    before = seen(fritz.get(url).content.decode())
    Customer.objects.filter(pk=story.customer.pk).update(address="Moved 2")
    refused = fritz.post(reverse("invoice-issue", args=[draft.pk]), {"seen": before})
    assert refused.status_code == 422
    page = refused.content.decode()
    assert "look at it again" in page
    assert "Moved 2" in page
    sent = {"seen": seen(page)}
    assert fritz.post(reverse("invoice-issue", args=[draft.pk]), sent).status_code == 302


def test_every_chosen_draft_is_issued_and_not_the_first_only(fritz: Client, story: Story) -> None:
    drafts = [told.drafted(story) for _ in range(3)]
    page = fritz.get(reverse("to-bill")).content.decode()
    sent = {f"seen-{row.pk}": invoices.preview(invoice=row).seen for row in drafts}
    assert all(digest in page for digest in sent.values())
    # One that is refused holds up no other.
    sent[f"seen-{drafts[0].pk}"] = "sha256:other"
    answer = fritz.post(
        reverse("drafts-issue"), sent | {"draft": [row.pk for row in drafts]}, follow=True
    )
    page = answer.content.decode()
    assert "look at it again" in page
    states = [Invoice.objects.get(pk=row.pk).state for row in drafts]
    assert states == ["draft", "issued", "issued"]


def test_what_is_to_be_billed_comes_as_csv(fritz: Client, story: Story) -> None:
    head, *rows = fritz.get(reverse("to-bill"), {"format": "csv"}).content.decode().splitlines()
    assert head.endswith("Currency,Net,Tax,Gross")
    assert len(rows) == 2
    assert all(row.startswith(f"{story.reference},Longprompt GmbH,") for row in rows)


def test_choosing_nothing_says_so(fritz: Client) -> None:
    answer = fritz.post(reverse("to-bill"), {})
    assert answer.status_code == 422
    assert "Choose at least one milestone." in answer.content.decode()


def test_a_discarded_draft_gives_its_milestones_back(fritz: Client, story: Story) -> None:
    draft = collected(fritz, story, 1)
    for _ in range(2):
        answer = fritz.post(reverse("invoice-discard", args=[draft.pk]))
        if answer.status_code == 404:
            break
        assert answer["Location"] == reverse("to-bill")
    assert not Invoice.objects.exists()
    assert "Contract signed" in fritz.get(reverse("to-bill")).content.decode()


def test_a_credit_note_is_worked_out_before_it_is_issued(fritz: Client, story: Story) -> None:
    invoice = told.invoiced(story, 1, 2)
    url = reverse("invoice-credit", args=[invoice.pk])
    sent = {"net": "10000", "reason": "Less was done.", "seen": "0"}
    page = fritz.post(url, sent).content.decode()
    assert "EUR\xa011,900.00" in page
    assert not Invoice.objects.filter(kind="credit_note").exists()
    for _ in range(2):
        assert fritz.post(url, sent | {"issue": "yes"}).status_code == 302
    note = Invoice.objects.get(kind="credit_note")
    assert note.gross == D("11900.00")
    assert note.reference in fritz.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert "Less was done." in fritz.get(reverse("invoice", args=[note.pk])).content.decode()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"net": "99999"}, "is left to credit, not more"),
        ({"net": "0"}, "greater than nothing"),
        ({"reason": " "}, "Say why the invoice is corrected."),
    ],
)
def test_a_wrong_credit_is_refused(
    fritz: Client, story: Story, changed: dict[str, str], said: str
) -> None:
    url = reverse("invoice-credit", args=[told.invoiced(story, 1).pk])
    answer = fritz.post(url, {"net": "1", "reason": "Why.", "issue": "yes"} | changed)
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_the_list_finds_narrows_and_downloads(fritz: Client, story: Story) -> None:
    told.paid(story, 1)
    second = told.invoiced(story, 2)
    credit_notes.credit(invoice=second, reason="Oh.", net=D(1), by=story.finance)
    url = reverse("invoices")

    def numbers(**query: str) -> set[str]:
        text = fritz.get(url, query | {"format": "csv"}).content.decode()
        return {row["Number"] for row in csv.DictReader(io.StringIO(text))}

    first = story.invoice.reference
    assert numbers() == {first, second.reference}
    assert numbers(standing="open") == numbers(standing="open", q="longprompt")
    assert numbers(standing="open") == {second.reference}
    assert numbers(standing="paid") == {first}
    assert numbers(standing="overdue") == numbers(q="nobody") == set()
    assert numbers(standing="credit-notes") == {second.credit_notes.get().reference}
    page = fritz.get(url, {"standing": "open"}).content.decode()
    assert second.reference in page
    assert "standing=open&amp;format=csv" in page
    assert "Nothing matches" in fritz.get(url, {"q": "nobody"}).content.decode()


def test_what_a_settlement_leaves_nothing_due_of_is_never_called_overdue(
    client: Client, world: World, on_day: Callable[[dt.date], None]
) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    paid = contract.engagement.invoices.get()
    audit = world.invoice(contract.milestones.get(position=2))
    assert audit.due_on is not None

    def said(invoice: Invoice) -> str:
        client.force_login(world.finance)
        one = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
        found = client.get(reverse("invoices"), {"q": invoice.reference}).content.decode()
        [badge] = {re.sub("<[^>]+>", "", each) for each in BADGE.findall(one + found)}
        return badge

    on_day(audit.due_on + days(1))
    assert (said(paid), said(audit)) == ("Paid", "Overdue")
    world.conclude(world.request(contract), "missed")
    settlements.approve(settlement=contract.settlements.get(), by=world.controller)
    assert (said(paid), said(audit)) == ("Settled", "Settled")


def test_no_cell_of_a_download_is_a_formula(fritz: Client, story: Story) -> None:
    Customer.objects.filter(pk=story.customer.pk).update(name="=1+1")
    told.invoiced(story, 1)
    text = fritz.get(reverse("invoices"), {"format": "csv"}).content.decode()
    assert "'=1+1" in text


def test_an_account_adds_up_what_was_invoiced_credited_and_paid(
    fritz: Client, story: Story
) -> None:
    told.paid(story, 1)
    credit_notes.credit(
        invoice=told.invoiced(story, 2), net=D(500), reason="Late.", by=story.finance
    )
    url = reverse("customer-account", args=[story.customer.pk])
    text = fritz.get(url, {"format": "csv"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["What"] for row in rows] == ["Payment", "Invoice", "Invoice", "Credit note"]
    assert D(rows[-1]["Balance"]) == D("7735.00") - D("595.00")
    assert "Owed by the customer" in fritz.get(url).content.decode()
