"""Pages without access: not found, sign in first, or another role."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from consultancy.demo.users import LONGPROMPT, DemoUsers, create_customer
from tests.browser import page_actions
from tests.browser.conftest import Window
from tests.engagements import story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.soak
def test_another_customers_page_is_not_found_and_leads_back(window: Window) -> None:
    # The access tests request every address; this one looks at the page.
    case = story.opened()
    page = window(case.stranger)

    response = page.goto(reverse("portal-engagement", args=[case.reference]))

    assert response is not None
    assert response.status == 404
    expect(page.get_by_role("main")).to_contain_text("404")
    page.get_by_role("main").get_by_role("link").click()
    expect(page).to_have_url(reverse("portal"))
    expect(page.locator(".board__title")).to_have_text("Somebody else's secret work")


def test_a_page_is_shown_after_signing_in(window: Window, people: DemoUsers) -> None:
    customer, _ = create_customer(LONGPROMPT, users=people)
    engagement = story.engagements.open_engagement(
        customer=customer,
        title="One prompt for all",
        workload="Long.",
        lead=people.consultant,
        by=people.consultant,
    )
    page, who = window(), people.consultant
    wanted = reverse("engagement-audit", args=[engagement.reference])
    page.goto(wanted)
    expect(page).to_have_url(f"{reverse('account_login')}?next={quote(wanted)}")
    page_actions.sign_in(page, who.email, "not the password")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("[name=login]")).to_have_value(who.email)
    page_actions.sign_in(page, who.email, people.password)
    expect(page).to_have_url(wanted)
    page_actions.sign_out(page, who)
    expect(page_actions.form_to(page, "account_login")).to_be_visible()


def test_a_colleague_in_another_role_has_no_access(window: Window, people: DemoUsers) -> None:
    page = window(people.consultant)

    response = page.goto(reverse("finance"))

    assert response is not None
    assert response.status == 403
    expect(page.get_by_role("main")).to_contain_text("403")
