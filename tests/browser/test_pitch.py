"""The pitch check in a browser: without scripts, with a profile, shared by link."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.core.cache import caches
from playwright.sync_api import expect

from engagements.common.rate_limits import Rate
from engagements.pitch import views as pitch
from tests.browser.conftest import Window
from tests.browser.test_looks import Viewer
from tests.engagements.evidence.traces import CAPTURES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

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
def no_rate_limit() -> None:
    """Forget earlier requests."""
    for cache in caches.all(initialized_only=False):
        cache.clear()


def test_a_pitch_is_checked_without_scripts_and_shared_by_link(window: Window) -> None:
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


def test_another_operator_of_an_uploaded_profile_can_be_chosen(window: Window) -> None:
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


def test_the_pages_fit_and_read(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = Viewer(window)
    viewer.glance(None, f"/pitch/?{urlencode(NUMBERS)}")
    viewer.glance(None, "/pitch/?share=140", status=422)
    monkeypatch.setattr(pitch, "CHECKS", Rate("none", most=0, window_s=60))
    viewer.glance(None, "/pitch/?share=40", status=429)
    assert not viewer.wrong, viewer.report()
