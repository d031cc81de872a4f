"""Pages at 200% zoom, with forced colours, with reduced motion, and money without JavaScript."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from engagements.settlements.models import Settlement
from tests.browser import page_actions, portfolio_pages
from tests.browser.conftest import Window
from tests.browser.page_checks import sticking_out, unfold
from tests.engagements import story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# 1280 by 900 px at 200%.
ZOOMED = {"width": 640, "height": 450}
# Bars and tallies that only a background draws, and which forced colours would erase.
ERASED = """() => {
  const canvas = getComputedStyle(document.body).backgroundColor;
  const isPainted = (element) => {
    const style = getComputedStyle(element);
    return (style.backgroundColor !== canvas && style.backgroundColor !== "rgba(0, 0, 0, 0)")
      || parseFloat(style.borderTopWidth) > 0;
  };
  return [...document.querySelectorAll("[role=img]:not(svg), [role=progressbar]")]
    .filter((element) => element.checkVisibility() && !element.textContent.trim()
      && !element.querySelector("svg, img"))
    .filter((element) => ![element, ...element.querySelectorAll("*")].some(isPainted))
    .map((element) => `${element.className}: ${element.getAttribute("aria-label")}`);
}"""
MOVING = """() => [...document.querySelectorAll("body *")]
  .filter((element) => {
    const { transitionDuration, animationDuration, animationName } = getComputedStyle(element);
    const longest = (text) => Math.max(...text.split(",").map(parseFloat));
    return longest(transitionDuration) > 0.05
      || (animationName !== "none" && longest(animationDuration) > 0.05);
  })
  .map((element) => `${element.tagName.toLowerCase()}.${element.className} moves`)"""
# Forms that only a script could submit.
MUTE = """() => [...document.querySelectorAll("main form[method=post]")]
  .filter((form) => !form.querySelector("[type=submit]")
    && !document.querySelector(`[type=submit][form="${form.id}"]`))
  .map((form) => `${form.getAttribute("action")} has no button`)"""


def zoomed(page: Page) -> list[str]:
    return sticking_out(page)


def forced(page: Page) -> list[str]:
    found: list[str] = page.evaluate(ERASED)
    return found


def moving(page: Page) -> list[str]:
    found: list[str] = page.evaluate(MOVING)
    return found


def mute(page: Page) -> list[str]:
    found: list[str] = page.evaluate(MUTE)
    return found


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("role", portfolio_pages.ROLES)
@pytest.mark.parametrize(
    ("options", "check"),
    [
        ({"viewport": ZOOMED}, zoomed),
        ({"forced_colors": "active"}, forced),
        ({"reduced_motion": "reduce"}, moving),
        ({"java_script_enabled": False}, mute),
    ],
    ids=["zoom", "forced-colours", "reduced-motion", "no-script"],
)
def test_every_page_works_as_its_reader_set_the_browser(
    window: Window, role: str, options: dict[str, object], check: Callable[[Page], list[str]]
) -> None:
    pages = portfolio_pages.one_of_each_page(
        portfolio_pages.pages_of(portfolio_pages.create_portfolio())[role]
    )
    windows: dict[object, Page] = {}
    wrong = []
    for user, url in pages:
        page = windows.get(user) or windows.setdefault(user, window(user, **options))
        page.goto(url)
        if check is not mute:
            unfold(page)
        wrong += [f"{user or 'anybody'} {url}: {what}" for what in check(page)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_finance_bills_and_approves_without_javascript(window: Window) -> None:
    case = story.missed()
    page = window(case.second, java_script_enabled=False)
    page.goto(reverse("settlement", args=[case.settlement.pk]))
    page_actions.send(page_actions.form_to(page, "settlement-approve", case.settlement.pk))
    page_actions.expect_done(page)
    assert Settlement.objects.get(pk=case.settlement.pk).state == "approved"

    other = story.start_another(case, "To bill")
    portfolio_pages.under_contract(portfolio_pages.replace(case, engagement=other))
    page_actions.bill_and_collect(window(case.finance, java_script_enabled=False))
