"""Invoice pages: draft, issue, discard and credit; the invoice list and a customer's account."""

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
from tests.engagements import story as stories
from tests.engagements.sessions import sign_in
from tests.engagements.story import Story
from tests.engagements.world import World, days

pytestmark = pytest.mark.django_db

D = Decimal
BADGE = re.compile(r'<span class="badge.*?</span>', re.S)


@pytest.fixture
def story() -> Story:
    return stories.in_force()


@pytest.fixture
def fritz(client: Client, story: Story) -> Client:
    client.force_login(story.finance)
    return client


def drafted(fritz: Client, story: Story, *positions: int) -> Invoice:
    """Draft milestones on the page."""
    chosen = [story.milestone(position).pk for position in positions]
    answer = fritz.post(reverse("to-bill"), {"milestone": chosen})
    draft = Invoice.objects.get(state="draft")
    assert answer["Location"] == reverse("invoice", args=[draft.pk])
    return draft


def version(page: str) -> str:
    """The version of the preview on a draft's page."""
    found = re.search(r'name="version" value="(sha256:[0-9a-f]{64})"', page)
    assert found
    return found[1]


def test_a_draft_is_issued_once_as_shown(fritz: Client, story: Story) -> None:
    draft = drafted(fritz, story, 1, 2)
    url, issue = (reverse(name, args=[draft.pk]) for name in ("invoice", "invoice-issue"))
    page = fritz.get(url).content.decode()
    assert "Longprompt GmbH" in page
    assert "EUR\xa024,871.00" in page
    Customer.objects.filter(pk=story.customer.pk).update(address="Moved 2")
    declined = fritz.post(issue, {"version": version(page)})
    assert declined.status_code == 422
    page = declined.content.decode()
    assert "Moved 2" in page
    for _ in range(2):
        assert fritz.post(issue, {"version": version(page)}).status_code == 302
    issued = Invoice.objects.get()
    assert (issued.number, issued.gross) == (1, D("24871.00"))
    assert issued.reference in fritz.get(url).content.decode()


def test_selected_drafts_are_issued_each_by_itself(fritz: Client, story: Story) -> None:
    drafts = [stories.drafted(story) for _ in range(3)]
    page = fritz.get(reverse("to-bill")).content.decode()
    sent = {f"version-{row.pk}": invoices.preview(invoice=row).version for row in drafts}
    assert all(digest in page for digest in sent.values())
    sent[f"version-{drafts[0].pk}"] = "sha256:other"
    fritz.post(reverse("drafts-issue"), sent | {"draft": [row.pk for row in drafts]})
    states = [Invoice.objects.get(pk=row.pk).state for row in drafts]
    assert states == ["draft", "issued", "issued"]


def test_milestones_to_bill_are_listed_downloaded_and_returned_by_a_discarded_draft(
    fritz: Client, story: Story
) -> None:
    assert fritz.post(reverse("to-bill"), {}).status_code == 422

    def rows() -> list[str]:
        page = fritz.get(reverse("to-bill"), {"format": "csv"}).content.decode()
        return page.splitlines()[1:]

    assert len(rows()) == 2
    assert all(row.startswith(f"{story.reference},Longprompt GmbH,") for row in rows())
    discard = reverse("invoice-discard", args=[drafted(fritz, story, 1).pk])
    assert len(rows()) == 1
    assert fritz.post(discard)["Location"] == reverse("to-bill")
    assert fritz.post(discard).status_code == 404
    assert len(rows()) == 2


def test_a_credit_note_is_previewed_and_issued_once(fritz: Client, story: Story) -> None:
    invoice = stories.invoiced(story, 1, 2)
    url = reverse("invoice-credit", args=[invoice.pk])
    sent = {"net": "10000", "reason": "Less was done.", "expected_credited": "0"}
    for wrong in ({"net": "99999"}, {"net": "0"}, {"reason": " "}):
        assert fritz.post(url, sent | wrong | {"issue": "yes"}).status_code == 422
    assert "EUR\xa011,900.00" in fritz.post(url, sent).content.decode()
    assert not Invoice.objects.filter(kind="credit_note").exists()
    for _ in range(2):
        assert fritz.post(url, sent | {"issue": "yes"}).status_code == 302
    note = Invoice.objects.get(kind="credit_note")
    assert (note.gross, note.state) == (D("11900.00"), "draft")
    issue = reverse("credit-note-issue", args=[note.pk])
    assert issue not in fritz.get(reverse("invoice", args=[note.pk])).content.decode()
    sign_in(fritz, story.second)
    assert issue in fritz.get(reverse("invoice", args=[note.pk])).content.decode()
    for _ in range(2):
        fritz.post(issue)
    note.refresh_from_db()
    assert note.state == "issued"
    assert note.reference in fritz.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert "Less was done." in fritz.get(reverse("invoice", args=[note.pk])).content.decode()


def test_the_list_is_searched_filtered_and_downloaded(fritz: Client, story: Story) -> None:
    stories.paid(story, 1)
    second = stories.invoiced(story, 2)
    note = credit_notes.credit(invoice=second, reason="Oh.", net=D(1))
    url = reverse("invoices")

    def rows(**query: str) -> list[dict[str, str]]:
        text = fritz.get(url, query | {"format": "csv"}).content.decode()
        return list(csv.DictReader(io.StringIO(text)))

    def numbers(**query: str) -> set[str]:
        return {row["Number"] for row in rows(**query)}

    first = story.invoice.reference
    assert numbers() == {first, second.reference}
    assert numbers(status="open") == numbers(status="open", q="longprompt") == {second.reference}
    assert numbers(status="paid") == {first}
    assert numbers(status="overdue") == numbers(q="nobody") == set()
    assert numbers(status="credit-notes") == {note.reference}
    page = fritz.get(url, {"status": "open"}).content.decode()
    assert second.reference in page
    assert "status=open&amp;format=csv" in page
    assert fritz.get(url, {"q": "nobody"}).status_code == 200
    # No cell of a download is a formula.
    Customer.objects.filter(pk=story.customer.pk).update(name="=1+1")
    assert {row["Customer"] for row in rows()} == {"'=1+1"}


def test_a_settled_invoice_is_never_called_overdue(
    client: Client, world: World, on_day: Callable[[dt.date], None]
) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    paid = contract.engagement.invoices.get()
    audit = world.invoice(contract.milestones.get(position=2))
    assert audit.due_on is not None

    def status(invoice: Invoice) -> str:
        client.force_login(world.finance)
        one = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
        found = client.get(reverse("invoices"), {"q": invoice.reference}).content.decode()
        [badge] = {re.sub("<[^>]+>", "", each) for each in BADGE.findall(one + found)}
        return badge

    on_day(audit.due_on + days(1))
    assert (status(paid), status(audit)) == ("Paid", "Overdue")
    world.conclude(world.request(contract), "missed")
    settlements.approve(settlement=contract.settlements.get(), by=world.controller)
    assert (status(paid), status(audit)) == ("Settled", "Settled")


def test_a_customer_account_adds_up(fritz: Client, story: Story) -> None:
    stories.paid(story, 1)
    credit_notes.credit(invoice=stories.invoiced(story, 2), net=D(500), reason="Late.")
    url = reverse("customer-account", args=[story.customer.pk])
    text = fritz.get(url, {"format": "csv"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 4
    assert D(rows[-1]["Balance"]) == D("7735.00") - D("595.00")
    assert "EUR\xa07,140.00" in fritz.get(url).content.decode()
