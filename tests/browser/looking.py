"""How a page looks and behaves, beyond what stands on it: width, contrast, names, silence."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request, Response

GRAVE = ("serious", "critical")
# What sticks out to the right although nothing around it scrolls or cuts it.
STICKING_OUT = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= window.innerWidth) return [];
  const framed = (element) => {
    for (let up = element.parentElement; up; up = up.parentElement) {
      if (getComputedStyle(up).overflowX !== "visible") return true;
    }
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > width + 1 && !framed(element))
    .map((element) => `${element.tagName.toLowerCase()}.${element.className} `
      + `${Math.round(element.getBoundingClientRect().right)}px`)
    .slice(0, 3)
    .concat([`the page is ${document.documentElement.scrollWidth}px wide`]);
}"""

# The pictures of the theme that is on, once they have all arrived.
BROKEN = """async () => {
  const arrived = (image) => image.complete ? null : new Promise((resolve) => {
    image.addEventListener("load", resolve, { once: true });
    image.addEventListener("error", resolve, { once: true });
  });
  for (const image of document.images) await arrived(image);
  return [...document.images].filter((image) => !image.naturalWidth).map((i) => i.currentSrc);
}"""


class Ear:
    """Hears what a page complains about: console errors (CSP's too) and requests that fail."""

    def __init__(self, page: Page) -> None:
        self._heard: list[str] = []
        page.on("console", self._console)
        page.on("requestfailed", self._request)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._heard.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        # Leaving a page ends what it still asks for.
        if request.failure != "net::ERR_ABORTED":
            self._heard.append(f"{request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._heard.append(f"{response.url}: {response.status}")

    def heard(self) -> list[str]:
        """What was complained about since the last time this was asked."""
        heard, self._heard = self._heard, []
        return heard


def sticking_out(page: Page) -> list[str]:
    """What makes the page wider than its window; empty when nothing does."""
    found: list[str] = page.evaluate(STICKING_OUT)
    return found


def broken_pictures(page: Page) -> list[str]:
    """The addresses of pictures that cannot be drawn, once every picture has arrived."""
    found: list[str] = page.evaluate(BROKEN)
    return [f"broken picture {address}" for address in found]


def barriers(page: Page, **options: Any) -> list[str]:
    """What axe calls serious or critical, with the first element it is about."""
    results = Axe().run(page, options={"resultTypes": ["violations"], **options})
    return [
        f"{found['id']} ({found['impact']}, {len(found['nodes'])}x): {found['nodes'][0]['html']}"
        for found in results.response["violations"]
        if found["impact"] in GRAVE
    ]
