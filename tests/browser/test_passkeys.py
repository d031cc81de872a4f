"""A person adds a passkey and signs in by it, without a password."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from engagements.people.models import User
from tests.browser.conftest import Window
from tests.engagements.world import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "a long enough sentence of words"
KEY = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_passkey_signs_in_without_a_password(window: Window) -> None:
    person: User = World().viewer
    person.set_password(PASSWORD)
    person.save()
    page = window()
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
    page.goto(reverse("account_login"))
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/portal/**")
    page.goto(reverse("mfa_index"))
    page.get_by_role("link", name="Add a key").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.locator("#id_passwordless").check()
    page.get_by_role("button", name="Add").click()
    page.wait_for_url(lambda url: not url.endswith("/add/"))
    page.context.clear_cookies()
    page.goto(reverse("account_login"))
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url("**/portal/**")
    expect(page.locator(".menu summary")).to_contain_text(person.name)
