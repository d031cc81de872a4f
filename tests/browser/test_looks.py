"""Every page of every role, wide and narrow, light and dark: it fits, it reads, it is silent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import pytest
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize, expect

from engagements.billing import bank_imports
from engagements.people.models import Role, User
from tests.browser import staging
from tests.browser.conftest import Window
from tests.browser.looking import (
    Ear,
    barriers,
    barriers_since,
    broken_pictures,
    note_looks,
    sticking_out,
    unfold,
)
from tests.engagements.billing.test_bank_imports import statement

Theme = Literal["dark", "light"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
CONTRAST_ONLY = {"runOnly": ["color-contrast"]}


@dataclass
class Viewer:
    """Looks at pages as one person after another, and notes what is wrong with them."""

    window: Window
    wrong: list[str] = field(default_factory=list)
    _windows: dict[User | None, tuple[Page, Ear]] = field(default_factory=dict)

    def glance(self, user: User | None, address: str, *, theme: Theme) -> None:
        """Look at one page in one theme: axe when wide, overflow in both widths."""
        page, ear = self._window_of(user)
        response = page.goto(address)
        assert response is not None
        if response.status >= 400:
            self.wrong.append(f"{user} {address}: status {response.status}")
        unfold(page)
        page.emulate_media(color_scheme=theme)
        for size in (NARROW, WIDE):
            page.set_viewport_size(size)
            self._note(user, address, f"{size['width']} px", sticking_out(page))
        self._note(user, address, theme, [*broken_pictures(page), *barriers(page)])
        self._note(user, address, "heard", ear.heard())

    def look(self, user: User | None, address: str, *, thoroughly: bool = True) -> None:
        """Look at one page in both widths and both themes."""
        page, ear = self._window_of(user)
        response = page.goto(address)
        assert response is not None
        if response.status >= 400:
            self.wrong.append(f"{user} {address}: status {response.status}")
        unfold(page)
        for size in (WIDE, NARROW):
            page.set_viewport_size(size)
            self._note(user, address, f"{size['width']} px", sticking_out(page))
            if thoroughly:
                self._read(user, address, size["width"], page)
        page.emulate_media(color_scheme="light")
        self._note(user, address, "heard", ear.heard())

    def _read(self, user: User | None, address: str, width: int, page: Page) -> None:
        # Narrow and dark at once shows nothing that was not narrow or dark before.
        for theme in ("light", "dark") if width == WIDE["width"] else ("light",):
            page.emulate_media(color_scheme=theme)
            where = f"{width} px {theme}"
            self._note(user, address, where, broken_pictures(page))
            # The theme changes colours and nothing else.
            if theme == "light" and width == WIDE["width"]:
                self._note(user, address, where, barriers(page))
                note_looks(page)
            elif theme == "light":
                self._note(user, address, where, barriers_since(page))
            else:
                self._note(user, address, where, barriers(page, **CONTRAST_ONLY))

    def _window_of(self, user: User | None) -> tuple[Page, Ear]:
        if user not in self._windows:
            page = self.window(user, reduced_motion="reduce")
            self._windows[user] = (page, Ear(page))
        return self._windows[user]

    def _note(self, user: User | None, address: str, where: str, found: Iterable[str]) -> None:
        self.wrong += [f"{user or 'anybody'} {address} ({where}): {what}" for what in found]

    def report(self) -> str:
        """Everything that is wrong, a line each."""
        return "\n" + "\n".join(self.wrong)


@pytest.mark.parametrize("role", ["consultants", "finance", "customers"])
def test_every_page_fits_and_reads_in_a_theme(window: Window, role: str) -> None:
    """Pages alternate between the themes; templates that several pages share are seen in both."""
    viewer = Viewer(window)

    for number, (user, address) in enumerate(staging.addresses_of(staging.stage())[role]):
        viewer.glance(user, address, theme="dark" if number % 2 else "light")

    assert not viewer.wrong, viewer.report()


# Staging takes as long as looking at five pages: once for all roles.
@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_page_fits_reads_and_is_silent(window: Window) -> None:
    viewer = Viewer(window)

    for addresses in staging.addresses_of(staging.stage()).values():
        for user, address in addresses:
            viewer.look(user, address)

    assert not viewer.wrong, viewer.report()


def test_a_fresh_house_has_pages_that_say_what_to_do(window: Window) -> None:
    viewer = Viewer(window)

    for role, name in [
        (Role.CONSULTANT, "board"),
        (Role.CONSULTANT, "engagement-new"),
        (Role.FINANCE, "finance"),
        (Role.FINANCE, "board"),
        (Role.NONE, "portal"),
    ]:
        viewer.look(staging.newcomer(role), reverse(name))

    assert not viewer.wrong, viewer.report()


def test_very_long_names_break_no_page(window: Window) -> None:
    told, offered = staging.long_named()
    asked = told.engagement.runs.get()
    passed_on = statement(("5.00", f"{told.invoice.reference} {'EREF+' * 24}"))
    taken = bank_imports.import_file(filename=f"{'x' * 90}.xml", content=passed_on, by=told.finance)
    viewer = Viewer(window)

    on_it = ["engagement", "engagement-audit", "engagement-contract"]
    addresses = [(told.consultant, reverse(name, args=[told.reference])) for name in on_it]
    addresses += [
        (told.consultant, reverse("board")),
        (told.consultant, staging.run_page("run", asked)),
        (told.finance, reverse("finance")),
        (told.finance, reverse("settlement", args=[told.settlement.pk])),
        (told.finance, reverse("bank")),
        (told.finance, reverse("bank-import", args=[taken.pk])),
        (told.signatory, reverse("portal")),
        (told.signatory, reverse("portal-engagement", args=[told.reference])),
        (told.signatory, reverse("portal-contract", args=[told.reference])),
        (told.signatory, reverse("portal-contract", args=[offered.reference])),
        (told.signatory, staging.run_page("portal-run", asked)),
    ]
    for user, address in addresses:
        viewer.look(user, address, thoroughly=False)

    assert not viewer.wrong, viewer.report()


def test_a_camera_can_read_the_code_of_a_second_factor_in_the_dark_too(window: Window) -> None:
    page = window(staging.newcomer(Role.CONSULTANT), color_scheme="dark")
    page.goto(reverse("mfa_activate_totp"))

    ground = page.locator("img.qr").evaluate("(code) => getComputedStyle(code).backgroundColor")

    assert ground == "rgb(255, 255, 255)"


def test_paper_is_white_in_the_dark_too_and_shows_nothing_to_press(window: Window) -> None:
    page = window(staging.newcomer(Role.FINANCE), color_scheme="dark")
    page.goto(reverse("finance"))
    ink = "getComputedStyle(document.body).color"
    assert page.evaluate(ink) == "rgb(236, 239, 242)"
    page.emulate_media(media="print")
    assert page.evaluate(ink) == "rgb(20, 24, 29)"
    for name in ("Main", "Finance"):
        expect(page.get_by_role("navigation", name=name, include_hidden=True)).to_be_hidden()
