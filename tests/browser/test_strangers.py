"""What belongs to somebody else does not exist, and whoever is nobody yet is asked who they are."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from consultancy.demo.users import LONGPROMPT, DemoUsers, create_customer
from engagements import documents
from engagements.documents.models import Document
from engagements.payouts import refunds
from tests.browser import acts, staging
from tests.browser.conftest import Window
from tests.engagements import story
from tests.engagements.story import Story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_another_customers_pages_do_not_exist(window: Window) -> None:
    told = story.underway()
    story.measured(told, 1.1)
    met = story.measured(staging.under_contract(staging.another(told, "Twice as fast")), 2.6)
    documents.issue(kind="settlement_statement", subject=paid_settlement(told))
    pages, parts = addresses(
        told, staging.run_page("portal-run", met), staging.run_page("run", met)
    )
    mine, ours, theirs = window(told.signatory), window(told.finance), window(told.stranger)

    for address in pages:
        response = theirs.goto(address)
        assert response is not None
        assert response.status == 404, address
        in_the_houses_look(theirs, address)
    for address in parts:
        answer = theirs.request.get(address)
        assert answer.status == 404, address
        assert told.customer.name not in answer.text(), address
    # For whom they are meant the same addresses are there: none of them is a slip of the pen.
    for address in (*pages, *parts):
        owner = mine if address.startswith(("/portal/", "/documents/", "/api/")) else ours
        assert owner.request.get(address).ok, address

    theirs.goto("/portal/")
    expect(theirs.get_by_text(told.engagement.title)).to_have_count(0)
    expect(theirs.get_by_role("link", name="Somebody else's secret work")).to_be_visible()


def paid_settlement(told: Story) -> str:
    refunds.mark_paid(settlement=story.approved(told), reference="REFUND-1", by=told.finance)
    return f"settlement:{told.settlement.pk}"


def addresses(told: Story, portal_run: str, house_run: str) -> tuple[list[str], list[str]]:
    """(pages, parts of pages and files) that are one customer's or the house's alone."""
    reference = [told.reference]
    pages = [
        *(
            reverse(name, args=reference)
            for name in ("portal-engagement", "portal-contract", "portal-handover")
        ),
        reverse("portal-contract-version", args=[told.reference, 1]),
        portal_run,
        *(
            reverse(name, args=reference)
            for name in ("engagement", "engagement-audit", "engagement-contract", "run-request")
        ),
        house_run,
        reverse("settlement", args=[told.settlement.pk]),
        reverse("settlement-propose", args=reference),
        reverse("board"),
        reverse("finance"),
    ]
    parts = [
        f"{portal_run}live/",
        f"{portal_run}charts/workloads-light.svg",
        *(f"{portal_run}{name}" for name in ("record.json", "benchmark.json", "candidate")),
        f"{house_run}live/",
        f"{house_run}record.json",
        f"{house_run}pictures/workloads-light.svg",
        *(reverse("document", args=[document.pk]) for document in Document.objects.all()),
        f"/api/v1/engagements/{told.reference}/",
    ]
    return pages, parts


def in_the_houses_look(page: Page, address: str) -> None:
    """The page that says so is one of the site, with the way back."""
    expect(page.get_by_text("404", exact=True), address).to_be_visible()
    expect(page.get_by_role("link", name="Twofold"), address).to_be_visible()
    page.get_by_role("link", name="Back to the start").click()
    expect(page.get_by_role("heading", name="Your engagements"), address).to_be_visible()


def test_who_is_not_signed_in_is_asked_and_then_goes_where_they_wanted(
    window: Window, people: DemoUsers
) -> None:
    customer, signatory = create_customer(LONGPROMPT, password=people.password)
    told = story.engagements.open_engagement(
        customer=customer,
        title="One prompt for all",
        workload="Long.",
        lead=people.consultant,
        by=people.consultant,
    )
    page = window()
    for wanted, who in [
        (f"/engagements/{told.reference}/audit/", people.consultant),
        (f"/portal/{told.reference}/", signatory),
        ("/finance/", people.finance),
    ]:
        page.goto(wanted)
        expect(page).to_have_url(f"/accounts/login/?next={quote(wanted)}")
        acts.sign_in(page, who.email, "not the password")
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_label("Email")).to_have_value(who.email)
        acts.sign_in(page, who.email, people.password)
        expect(page).to_have_url(wanted)
        acts.sign_out(page, who)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_colleague_in_another_role_is_told_so(window: Window, people: DemoUsers) -> None:
    page = window(people.consultant)

    response = page.goto("/finance/")

    assert response is not None
    assert response.status == 403
    expect(page.get_by_text("403", exact=True)).to_be_visible()
