"""The eyes of these tests see: each fault that they look for is found where it is."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Window
from tests.browser.looking import (
    Ear,
    barriers,
    barriers_since,
    broken_pictures,
    note_looks,
    sticking_out,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(window: Window) -> Page:
    """The sign-in page: a real one, with the site's policy."""
    page = window()
    page.goto("/accounts/login/")
    return page


def put(page: Page, markup: str) -> None:
    page.locator("main").evaluate("(main, markup) => { main.innerHTML = markup }", markup)


def test_what_sticks_out_is_seen_and_what_scrolls_in_its_frame_is_not(page: Page) -> None:
    wide = '<p class="wide" style="width: 2000px">wide</p>'
    put(page, f'<div style="overflow-x: auto">{wide}</div>')
    assert sticking_out(page) == []

    put(page, wide)
    assert sticking_out(page)[-1].startswith("the page is 20")
    put(page, f'<pre class="cut" style="width: 90px; overflow: hidden">{"x" * 60}</pre>')
    assert sticking_out(page)[0].startswith("pre.cut")


def test_what_cannot_be_read_is_seen(page: Page) -> None:
    assert barriers(page) == []

    put(page, '<p style="color: #aaa; background: #bbb">faint</p><input type="text">')

    assert {found.split(" ")[0] for found in barriers(page)} == {"color-contrast", "label"}


def test_at_another_width_contrast_is_looked_at_where_something_looks_otherwise(page: Page) -> None:
    faint = "color: #aaa; background: #bbb"
    put(page, f'<p style="{faint}">seen before</p><p class="now" style="{faint}" hidden>new</p>')
    note_looks(page)
    assert barriers_since(page) == []

    put_on = "(p) => { p.hidden = false; p.insertAdjacentHTML('afterend', '<input>') }"
    page.locator("p.now").evaluate(put_on)

    found = barriers_since(page)
    assert {each.split(" ")[0] for each in found} == {"color-contrast", "label"}
    assert "1x" in next(each for each in found if each.startswith("color-contrast"))
    note_looks(page)
    page.locator("main p").first.evaluate("(p) => { p.style.color = '#a9a9a9' }")
    assert "seen before" in " ".join(barriers_since(page))


def test_what_fails_to_load_or_is_forbidden_is_heard(page: Page) -> None:
    ear = Ear(page)
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

    complaints = " ".join(ear.heard())

    assert "no-such-picture.svg: 404" in complaints
    assert "Content Security Policy" in complaints
    assert ear.heard() == []
