"""One Chromium for the browser tests, and a window for each person in a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from consultancy.demo.users import DemoUsers, create_staff
from engagements.people.models import User
from tests.engagements.cached_stories import running_test
from tests.engagements.sessions import sign_in

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
TIMEOUT_MS = 20_000
FAILED = pytest.StashKey[bool]()
DESK = {"width": 1280, "height": 900}

# Opens a window, signed in if a user is given; further arguments are options of its context.
Window = Callable[..., Page]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Record whether the test failed, for its windows."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """One Chromium for every test here."""
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's sync API keeps an event loop in the main thread, where Django refuses
        # queries unless told otherwise.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        expect.set_options(timeout=TIMEOUT_MS)
        running = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def window(
    browser: Browser,
    live_server: LiveServer,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Window]:
    """Open windows at the site; fail on script errors, and take screenshots of a failed test."""
    opened: list[BrowserContext] = []
    script_errors: list[str] = []

    def open_window(user: User | None = None, **options: Any) -> Page:
        options = {"viewport": DESK, "locale": "en-GB", **options}
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(TIMEOUT_MS)
        opened.append(context)
        if user is not None:
            context.add_cookies([_session_of(user, live_server.url)])
        page = context.new_page()
        page.on("pageerror", lambda error: script_errors.append(f"{page.url}: {error}"))
        return page

    yield open_window
    if request.node.stash.get(FAILED, False):
        pages = [page for context in opened for page in context.pages]
        for number, page in enumerate(pages):
            page.screenshot(path=tmp_path / f"window-{number}.png", full_page=True)
    for context in opened:
        context.close()
    assert not script_errors, "\n".join(script_errors)


def _session_of(user: User, url: str) -> Any:
    """The session cookie of a signed-in user."""
    client = Client()
    sign_in(client, user, again=False)
    return {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": url}


@pytest.fixture(autouse=True)
def stories_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the rows of stories that an earlier test of this process created."""
    with running_test(request.fixturenames, monkeypatch):
        yield


@pytest.fixture
def people(transactional_db: None) -> DemoUsers:
    """The consultancy's staff."""
    return create_staff()
