"""Appearance of all pages: each template once in `make test`, in all looks in `make soak`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import pytest
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize, expect

from engagements.billing import bank_imports
from engagements.people.models import Role, User
from tests.browser import portfolio_pages
from tests.browser.conftest import Window
from tests.browser.page_checks import (
    AXE,
    NO_CONTRAST,
    ErrorCollector,
    barriers,
    broken_pictures,
    faint_looks,
    keep_pictures,
    sticking_out,
    unfold,
)
from tests.engagements.billing.test_bank_imports import statement

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Theme = Literal["dark", "light"]
WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}


@dataclass
class Viewer:
    """Opens pages as several users, and collects what is wrong with them."""

    window: Window
    wrong: list[str] = field(default_factory=list)
    _windows: dict[User | None, tuple[Page, ErrorCollector]] = field(default_factory=dict)
    _known_looks: set[str] = field(default_factory=set)
    _turns: int = 0

    def glance(self, user: User | None, url: str, *, status: int = 200) -> None:
        """Check one page once, by turns wide and light or narrow and dark; overflow at both widths.

        Contrast is checked once for each combination of colours and letters.
        """
        self._turns += 1
        seen, other = (WIDE, NARROW) if self._turns % 2 else (NARROW, WIDE)
        theme: Theme = "light" if seen is WIDE else "dark"
        page = self._open(user, url, status, size=seen, theme=theme)
        found = [
            *broken_pictures(page),
            *sticking_out(page),
            *barriers(page, **NO_CONTRAST),
            *faint_looks(page, self._known_looks),
        ]
        self._note(user, url, f"{seen['width']} px {theme}", found)
        keep_pictures(page)
        page.set_viewport_size(other)
        self._note(user, url, f"{other['width']} px", sticking_out(page))
        self._listen(user, url)

    def look(self, user: User | None, url: str) -> None:
        """Check one page with all rules and pictures: wide in both themes, and narrow."""
        page = self._open(user, url)
        cases: list[tuple[ViewportSize, Theme]] = [
            (WIDE, "light"),
            (WIDE, "dark"),
            (NARROW, "light"),
        ]
        for size, theme in cases:
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=theme)
            where = f"{size['width']} px {theme}"
            found = [*broken_pictures(page), *sticking_out(page), *barriers(page)]
            self._note(user, url, where, found)
        self._listen(user, url)

    def measure(self, user: User | None, url: str) -> None:
        """Check one page for overflow, wide and narrow."""
        page = self._open(user, url)
        self._note(user, url, "wide", sticking_out(page))
        keep_pictures(page)
        page.set_viewport_size(NARROW)
        self._note(user, url, "narrow", sticking_out(page))
        self._listen(user, url)

    def _open(
        self,
        user: User | None,
        url: str,
        status: int = 200,
        *,
        size: ViewportSize = WIDE,
        theme: Theme = "light",
    ) -> Page:
        page, ear = self._window_of(user)
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=theme)
        response = page.goto(url)
        assert response is not None
        if response.status != status:
            self.wrong.append(f"{user} {url}: status {response.status}")
        if status != 200:
            assert ear.errors()
        unfold(page)
        return page

    def _listen(self, user: User | None, url: str) -> None:
        _, ear = self._window_of(user)
        self._note(user, url, "errors", ear.errors())

    def _window_of(self, user: User | None) -> tuple[Page, ErrorCollector]:
        if user not in self._windows:
            page = self.window(user, reduced_motion="reduce")
            # Sending it to each page would take half as long as its checks.
            page.add_init_script(AXE)
            self._windows[user] = (page, ErrorCollector(page))
        return self._windows[user]

    def _note(self, user: User | None, url: str, where: str, found: Iterable[str]) -> None:
        self.wrong += [f"{user or 'anybody'} {url} ({where}): {what}" for what in found]

    def report(self) -> str:
        """Return everything that is wrong, a line each."""
        return "\n" + "\n".join(self.wrong)


@pytest.mark.parametrize("role", portfolio_pages.ROLES)
def test_every_template_fits_and_reads(window: Window, role: str) -> None:
    viewer = Viewer(window)

    for user, url in portfolio_pages.one_of_each_page(
        portfolio_pages.pages_of(portfolio_pages.create_portfolio())[role]
    ):
        viewer.glance(user, url)

    assert not viewer.wrong, viewer.report()


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("role", portfolio_pages.ROLES)
def test_every_page_at_every_stage_fits_and_reads(window: Window, role: str) -> None:
    viewer = Viewer(window)

    for user, url in portfolio_pages.pages_of(portfolio_pages.create_portfolio())[role]:
        viewer.look(user, url)

    assert not viewer.wrong, viewer.report()


@pytest.mark.soak
def test_pages_of_a_new_installation_fit_and_read(window: Window) -> None:
    viewer = Viewer(window)

    for role, name in [
        (Role.CONSULTANT, "board"),
        (Role.CONSULTANT, "engagement-new"),
        (Role.FINANCE, "finance"),
        (Role.NONE, "portal"),
    ]:
        viewer.glance(portfolio_pages.newcomer(role), reverse(name))

    assert not viewer.wrong, viewer.report()


@pytest.mark.parametrize("most", [5, pytest.param(None, marks=pytest.mark.soak)])
def test_very_long_names_overflow_no_page(window: Window, most: int | None) -> None:
    case, offered = portfolio_pages.long_named()
    run = case.engagement.runs.get()
    content = statement(("5.00", f"{case.invoice.reference} {'EREF+' * 24}"))
    bank_file = bank_imports.import_file(
        filename=f"{'x' * 90}.xml", content=content, by=case.finance
    )
    pages = [
        (case.consultant, reverse("engagement", args=[case.reference])),
        (case.finance, reverse("settlement", args=[case.settlement.pk])),
        (case.finance, reverse("bank-import", args=[bank_file.pk])),
        (case.signatory, reverse("portal")),
        (case.signatory, reverse("portal-contract", args=[offered.reference])),
        (case.consultant, reverse("engagement-audit", args=[case.reference])),
        (case.consultant, reverse("engagement-contract", args=[case.reference])),
        (case.consultant, reverse("board")),
        (case.consultant, portfolio_pages.run_page("run", run)),
        (case.finance, reverse("finance")),
        (case.finance, reverse("bank")),
        (case.signatory, reverse("portal-engagement", args=[case.reference])),
        (case.signatory, portfolio_pages.run_page("portal-run", run)),
    ]
    viewer = Viewer(window)

    for user, url in pages[:most]:
        viewer.measure(user, url)

    assert not viewer.wrong, viewer.report()


def test_the_qr_code_of_a_second_factor_is_white_in_the_dark_theme(window: Window) -> None:
    page = window(portfolio_pages.newcomer(Role.CONSULTANT), color_scheme="dark")
    page.goto(reverse("mfa_activate_totp"))

    ground = page.locator("img.qr").evaluate("(code) => getComputedStyle(code).backgroundColor")

    assert ground == "rgb(255, 255, 255)"


def test_printed_pages_are_light_and_without_navigation(window: Window) -> None:
    page = window(portfolio_pages.newcomer(Role.FINANCE), color_scheme="dark")
    page.goto(reverse("finance"))
    ink = "getComputedStyle(document.body).color"
    assert page.evaluate(ink) == "rgb(236, 239, 242)"
    page.emulate_media(media="print")
    assert page.evaluate(ink) == "rgb(20, 24, 29)"
    for name in ("Main", "Finance"):
        expect(page.get_by_role("navigation", name=name, include_hidden=True)).to_be_hidden()
