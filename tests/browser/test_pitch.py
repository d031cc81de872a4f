"""Anybody checks a pitch: without scripts, on a phone and at a desk, by a link that is shared."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import caches
from playwright.sync_api import Page, ViewportSize, expect

from engagements.common.rate_limits import Rate
from engagements.pitch import views as pitch
from tests.browser.conftest import Window
from tests.browser.looking import Ear, barriers, sticking_out, unfold
from tests.engagements.evidence.traces import CAPTURES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SIZES: tuple[ViewportSize, ...] = ({"width": 1280, "height": 900}, {"width": 390, "height": 844})
CONTRAST_ONLY = {"runOnly": ["color-contrast"]}
NUMBERS = {
    "share": "86",
    "speedup": "3",
    "roofline": "35",
    "weeks": "6",
    "life": "20",
    "fee": "60,000.00",
    "bill": "40,000.00",
    "currency": "EUR",
    "hours": "0",
    "definition": "flash_attention",
    "gpu": "sm90",
    "libraries": "x" * 80 + ": " + "a very long reason, " * 12,
    "shapes": "8x4096 12000\n16x4096 3000",
}


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Nothing was asked yet."""
    for cache in caches.all(initialized_only=False):
        cache.clear()


def test_a_stranger_checks_a_pitch_without_scripts_and_shares_its_link(window: Window) -> None:
    page = window(None, java_script_enabled=False)
    page.goto("/")
    page.get_by_role("link", name="Check the pitch").click()
    page.get_by_label("Share of wall-clock time, %").fill("40")
    page.get_by_label("Kernel speedup, times").fill("3")
    page.get_by_label("Fee, net").fill("60.000,00")
    page.get_by_role("button", name="Check the pitch").click()
    expect(page.get_by_text("An amount has a currency")).to_be_visible()
    expect(page.get_by_label("Share of wall-clock time, %")).to_have_value("40")
    page.get_by_label("Currency").fill("EUR")
    page.get_by_label("Weeks of work").fill("6")
    page.get_by_role("button", name="Check the pitch").click()
    expect(page.locator("main p", has_text="at most 1.67× end to end").first).to_be_visible()

    link = page.get_by_label("This link gives the same answer again.").input_value()
    other = window(None, java_script_enabled=False)
    other.goto(link)
    assert other.locator("main").inner_text() == page.locator("main").inner_text()


def test_a_profile_is_dropped_and_another_operator_chosen(window: Window) -> None:
    page = window(None)
    page.goto("/pitch/")
    page.get_by_label("A profile or a traffic log").set_input_files(
        CAPTURES / "h200_llama_decode_32k_prefix.trace.json.gz"
    )
    page.get_by_role("button", name="Check the pitch").click()
    expect(page.get_by_text("h200_llama_decode_32k_prefix.trace.json.gz")).to_be_visible()
    hot = page.locator("article", has_text="Is the operation hot?")
    before = hot.inner_text()
    page.get_by_label("Operator in the profile").select_option(index=1)
    page.get_by_role("button", name="Check this one").click()
    expect(page).not_to_have_url("/pitch/")
    assert hot.inner_text() != before


def test_the_pages_fit_and_read_in_both_themes(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = window(None, reduced_motion="reduce")
    ear, wrong = Ear(page), list[str]()
    for address in ("/pitch/", f"/pitch/?{urlencode(NUMBERS)}"):
        page.goto(address)
        unfold(page)
        wrong += looked_at(page, address[:16])
    wrong += ear.heard()
    for address in ("/pitch/?share=140", "/pitch/?share=40"):
        # The second is one too many.
        page.goto(address)
        wrong += looked_at(page, address)
        monkeypatch.setattr(pitch, "CHECKS", Rate("none", most=0, window_s=60))
    expect(page.get_by_role("heading", name="Please wait a moment")).to_be_visible()
    assert not wrong, "\n" + "\n".join(wrong)


def looked_at(page: Page, address: str) -> list[str]:
    """What is wrong with a page in both widths and both themes."""
    wrong: list[str] = []
    for size in SIZES:
        page.set_viewport_size(size)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            options: dict[str, Any] = {} if theme == "light" else CONTRAST_ONLY
            found = [*sticking_out(page), *barriers(page, **options)]
            wrong += [f"{address} {size['width']} px {theme}: {each}" for each in found]
    return wrong
