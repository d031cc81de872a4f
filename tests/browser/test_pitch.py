"""The pitch check in a browser: without scripts, with a profile, shared by link."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.core.cache import caches
from playwright.sync_api import expect

from engagements.common.rate_limits import Rate
from engagements.pitch import views as pitch
from tests.browser import page_actions
from tests.browser.conftest import Window
from tests.browser.test_appearance import Viewer
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
    page.locator('main a[href="/pitch/"]').first.click()
    form = page.locator("form#numbers")
    page_actions.fill(form, share=40, speedup=3, fee="60.000,00")
    page_actions.send(form)
    expect(page.locator("#id_currency_error")).to_be_visible()
    expect(form.locator("[name=share]")).to_have_value("40")
    page_actions.fill(form, currency="EUR", weeks=6)
    page_actions.send(form)
    expect(page.locator("main p", has_text="1.67×").first).to_be_visible()

    link = page.locator("textarea#link").input_value()
    other = window(None, java_script_enabled=False)
    other.goto(link)
    assert other.locator("main").inner_text() == page.locator("main").inner_text()


def test_another_operator_of_an_uploaded_profile_can_be_chosen(window: Window) -> None:
    page = window(None)
    page.goto("/pitch/")
    form = page.locator("form#numbers")
    file = CAPTURES / "h200_llama_decode_32k_prefix.trace.json.gz"
    form.locator("[name=file]").set_input_files(file)
    page_actions.send(form)
    expect(page.get_by_text(file.name)).to_be_visible()
    hot = page.locator("article", has=page.locator("#check-hot"))
    before = hot.inner_text()
    chosen = page.locator('form:has(select[name="operator"])')
    chosen.locator("select").select_option(index=1)
    page_actions.send(chosen)
    assert hot.inner_text() != before

    # A declined form focuses its first error.
    page.goto("/pitch/?share=140")
    expect(page.locator("[name=share]")).to_be_focused()


def test_the_pages_fit_and_read(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = Viewer(window)
    viewer.glance(None, f"/pitch/?{urlencode(NUMBERS)}")
    viewer.glance(None, "/pitch/?share=140", status=422)
    monkeypatch.setattr(pitch, "CHECKS", Rate("none", most=0, window_s=60))
    viewer.glance(None, "/pitch/?share=40", status=429)
    assert not viewer.wrong, viewer.report()
