"""Keyboard use: every step is reachable, and the focus is visible and never covered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from consultancy.demo.users import DemoUsers
from engagements.billing.models import Invoice
from engagements.contracts.signing_models import Acceptance
from engagements.disputes.models import MeasurementDispute
from engagements.engagement.models import Engagement
from engagements.settlements.models import Settlement
from tests.browser import page_actions
from tests.browser.conftest import Window
from tests.browser.page_checks import NO_CONTRAST, barriers
from tests.engagements import story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MAX_TABS = 60
# The focused element, whether it or a parent is outlined, and whether nothing covers it.
FOCUSED = """() => {
  const element = document.activeElement;
  const isOutlined = (one) => one !== null && (
    (getComputedStyle(one).outlineStyle !== "none"
      && parseFloat(getComputedStyle(one).outlineWidth) >= 2)
    || isOutlined(one.parentElement));
  const line = element.getClientRects()[0];
  const topmost = document.elementFromPoint(line.x + line.width / 2, line.y + line.height / 2);
  return {
    what: element.outerHTML.slice(0, 120),
    isOutlined: isOutlined(element),
    isUncovered: topmost !== null && (element.contains(topmost) || topmost.contains(element)),
  };
}"""


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the focus is on `target`, and check the focus at every stop."""
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        stop: dict[str, Any] = page.evaluate(FOCUSED)
        assert stop["isOutlined"], f"No outline on {page.url}: {stop['what']}"
        assert stop["isUncovered"], f"Covered on {page.url}: {stop['what']}"
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail(f"{MAX_TABS} tabs on {page.url} did not reach {target}")


def test_a_user_signs_in_and_out_by_keyboard(window: Window, people: DemoUsers) -> None:
    page = window(reduced_motion="reduce")
    page.goto("/accounts/login/")
    form = page_actions.form_to(page, "account_login")
    form.locator("[name=login]").focus()
    page.keyboard.type(people.finance.email)
    tab_to(page, form.locator("[name=password]"))
    page.keyboard.type(people.password)
    page.keyboard.press("Enter")
    expect(page).to_have_url(reverse("finance"))

    name = page.get_by_role("banner").get_by_text(people.finance.name).locator("..")
    tab_to(page, name)
    page.keyboard.press("Enter")
    sign_out = page_actions.form_to(page, "account_logout").get_by_role("button")
    tab_to(page, sign_out)
    page.keyboard.press("Escape")
    expect(sign_out).to_be_hidden()
    expect(name).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, sign_out)
    page.keyboard.press("Enter")
    expect(form).to_be_visible()


def test_the_first_tab_stop_skips_the_navigation(window: Window) -> None:
    case = story.opened()
    page = window(case.consultant, reduced_motion="reduce")
    page.goto(reverse("board"))
    skip = page.locator('a[href="#main"]')
    expect(skip).not_to_be_in_viewport()

    page.keyboard.press("Tab")

    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page_actions.link(page, "engagement-new")).to_be_focused()


def test_a_contract_is_accepted_by_keyboard(window: Window) -> None:
    case = story.on_offer()
    page = window(case.signatory, reduced_motion="reduce")
    page.goto(reverse("portal"))
    for name in ("portal-engagement", "portal-contract"):
        tab_to(page, page_actions.link(page, name, case.reference))
        page.keyboard.press("Enter")
        expect(page).to_have_url(reverse(name, args=[case.reference]))
    form = page_actions.form_to(
        page, "portal-contract-accept", case.reference, case.contract.number
    )
    tab_to(page, form.locator("[name=typed_name]"))
    page.keyboard.type(case.signatory.name)
    tab_to(page, form.locator("[name=agreed]"))
    page.keyboard.press("Space")
    tab_to(page, form.locator("[type=submit]"))
    page.keyboard.press("Enter")

    page_actions.expect_done(page)
    assert Acceptance.objects.get().user == case.signatory


def press(page: Page, target: Locator) -> None:
    """Tab to a link or button and press Enter; wait for the page that it opens."""
    tab_to(page, target)
    with page.expect_event("load"):
        page.keyboard.press("Enter")


@pytest.mark.soak
def test_a_run_is_disputed_by_keyboard(window: Window) -> None:
    case = story.underway()
    run = story.measured(case, 1.2)
    page = window(case.signatory, reduced_motion="reduce")
    page.goto(reverse("portal-run", args=[case.reference, run.pk]))
    press(page, page_actions.link(page, "portal-run-dispute", case.reference, run.pk))
    form = page_actions.form_with(page, "repeater")
    tab_to(page, form.locator("[name=reason]"))
    page.keyboard.type("Our machine measures a higher ratio.")
    # The arrow chooses the customer, who comes before the expert.
    tab_to(page, form.locator("[name=repeater]:checked"))
    page.keyboard.press("ArrowUp")
    press(page, form.locator("[type=submit]"))
    page_actions.expect_done(page)
    assert MeasurementDispute.objects.get().raised_by == case.signatory


@pytest.mark.soak
def test_finance_approves_and_bills_by_keyboard(window: Window) -> None:
    case = story.missed()
    page = window(case.second, reduced_motion="reduce")
    page.goto(reverse("settlements"))
    press(page, page_actions.link(page, "settlement", case.settlement.pk))
    approving = page_actions.form_to(page, "settlement-approve", case.settlement.pk)
    press(page, approving.locator("[type=submit]"))
    page_actions.expect_done(page)
    assert Settlement.objects.get().state == Settlement.State.APPROVED

    other = replace(case, engagement=story.start_another(case, "To bill"))
    story.active(story.offered(story.audited(other)))
    page.goto(reverse("to-bill"))
    press(page, page_actions.form_with(page, "milestone").locator("[type=submit]"))
    press(page, page.locator('form[action$="/issue/"] [type=submit]').first)
    page_actions.expect_done(page)
    assert other.invoice.state == Invoice.State.ISSUED


def test_a_form_outlives_its_session(window: Window) -> None:
    case = story.opened()
    page = window(case.consultant)
    page.clock.install()
    page.goto(reverse("engagement-new"))
    form = page_actions.form_with(page, "workload")
    form.locator("[name=customer]").select_option(str(case.customer.pk))
    page_actions.fill(form, title="Typed for long", workload="And not lost.")
    session: Any = [each for each in page.context.cookies() if each["name"] == "sessionid"]
    page.context.clear_cookies(name="sessionid")
    page.clock.fast_forward("05:00")
    form.locator("[type=submit]").first.click()
    expired = page.locator("#expired")
    expect(expired).to_be_visible()
    assert not barriers(page, **NO_CONTRAST)
    page.keyboard.press("Escape")
    expect(form.locator("[name=title]")).to_have_value("Typed for long")

    # Signed in again on another tab.
    page.context.add_cookies(session)
    page_actions.send(form)
    page_actions.expect_done(page)
    assert Engagement.objects.filter(title="Typed for long").exists()
