"""The checks of rendered pages find each kind of fault."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Window
from tests.browser.page_checks import (
    ErrorCollector,
    barriers,
    broken_pictures,
    faint_looks,
    keep_pictures,
    sticking_out,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(window: Window) -> Page:
    """The sign-in page: a real one, with the site's policy."""
    page = window()
    page.goto("/accounts/login/")
    return page


# The policy refuses style attributes in markup, not those that a script sets.
PUT = """(main, markup) => {
  main.innerHTML = markup;
  for (const one of main.querySelectorAll("[data-style]")) one.style.cssText = one.dataset.style;
}"""


def put(page: Page, markup: str) -> None:
    page.locator("main").evaluate(PUT, markup.replace(" style=", " data-style="))


def test_overflow_is_found_and_scrolling_is_allowed(page: Page) -> None:
    wide = '<p class="wide" style="width: 2000px">wide</p>'
    put(page, f'<div style="overflow-x: auto">{wide}</div>')
    assert sticking_out(page) == []

    put(page, wide)
    assert sticking_out(page)[-1].startswith("the page is 20")
    put(page, f'<pre class="cut" style="width: 90px; overflow: hidden">{"x" * 60}</pre>')
    assert sticking_out(page)[0].startswith("pre.cut")


def test_low_contrast_and_missing_labels_are_found(page: Page) -> None:
    assert barriers(page) == []

    put(page, '<p style="color: #aaa; background: #bbb">faint</p><input type="text">')

    assert {found.split(" ")[0] for found in barriers(page)} == {"color-contrast", "label"}


@pytest.mark.soak
def test_contrast_of_each_look_is_checked_once(page: Page) -> None:
    known: set[str] = set()
    assert faint_looks(page, known) == []
    faint = "color: #aaa; background: #bbb"

    put(
        page,
        f'<p style="{faint}">one</p><p style="{faint}">two</p><p style="color: #aaa">three</p>',
    )

    assert ["2x" in found for found in faint_looks(page, known)] == [True]
    assert faint_looks(page, known) == []
    put(page, '<div style="background: #bbb"><p style="color: #a9a9a9">four</p></div>')
    assert "four" in faint_looks(page, known)[0]


@pytest.mark.soak
def test_pictures_are_kept_when_the_theme_changes(page: Page) -> None:
    dark = '<source srcset="/static/no.svg" media="(prefers-color-scheme: dark)">'
    put(page, f'<picture>{dark}<img src="/static/favicon.svg" alt=""></picture>')
    keep_pictures(page)
    page.emulate_media(color_scheme="dark")
    assert page.locator("img").evaluate("img => img.currentSrc").endswith("favicon.svg")


@pytest.mark.soak
def test_failed_requests_and_policy_violations_are_found(page: Page) -> None:
    ear = ErrorCollector(page)
    put(page, '<img src="/static/no-such-picture.svg" alt="none">')
    assert broken_pictures(page)[0].endswith("no-such-picture.svg")
    page.evaluate(
        """() => new Promise((heard) => {
             document.addEventListener("securitypolicyviolation", heard, { once: true });
             const script = document.createElement("script");
             script.textContent = "1 + 1";
             document.body.append(script);
           })"""
    )

    complaints = " ".join(ear.errors())

    assert "no-such-picture.svg: 404" in complaints
    assert "Content Security Policy" in complaints
    assert ear.errors() == []
