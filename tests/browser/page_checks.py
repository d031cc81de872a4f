"""Checks of a rendered page: overflow, contrast, accessible names, pictures, errors."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request, Response

GRAVE = ("serious", "critical")
# The innermost elements whose content is wider than they are and neither scrolls nor ends in an
# ellipsis: it lies over its neighbour, is cut off, or makes the whole page wider.
STICKING_OUT = """() => {
  const spills = (element) => {
    const style = getComputedStyle(element);
    return element.checkVisibility()
      && element.clientWidth > 1
      && element.scrollWidth > element.clientWidth + 2
      && !["auto", "scroll"].includes(style.overflowX)
      && style.textOverflow !== "ellipsis"
      && style.display !== "inline";
  };
  const spilling = [...document.querySelectorAll("body *:not(svg, svg *)")].filter(spills);
  const found = spilling
    .filter((element) => !spilling.some((other) => other !== element && element.contains(other)))
    .map((element) => `${element.tagName.toLowerCase()}.${element.className} `
      + `${element.scrollWidth} in ${element.clientWidth} px`);
  const page = document.documentElement.scrollWidth;
  return page > innerWidth ? [...found, `the page is ${page} px wide`] : found;
}"""
# The pictures of the theme that is on, once they have all arrived.
BROKEN = """async () => {
  const arrived = (image) => image.complete ? null : new Promise((resolve) => {
    image.addEventListener("load", resolve, { once: true });
    image.addEventListener("error", resolve, { once: true });
  });
  const broken = () => [...document.images].filter((image) => !image.naturalWidth);
  for (const image of document.images) await arrived(image);
  // A picture that has just changed with the theme is, for a moment, neither under way nor there.
  for (let tries = 0; broken().length && tries < 30; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const image of document.images) await arrived(image);
  }
  return broken().map((image) => image.currentSrc);
}"""
# Only violations: passes take long to transfer.
VIOLATIONS = "async (options) => (await axe.run(options)).violations"
AXE = Axe().axe_script
# The visible elements with text or a field, each with all that its contrast depends on: its colour,
# letters, and the backgrounds and opacities up to the first opaque background.
LOOKS = """() => {
  const isOpaque = (style) => !/^rgba|transparent/.test(style.backgroundColor);
  const ground = (element) => {
    const style = getComputedStyle(element), parent = element.parentElement;
    const own = [style.backgroundColor, style.backgroundImage, style.opacity].join();
    return isOpaque(style) || !parent ? own : `${own};${ground(parent)}`;
  };
  const hasText = (element) => element.matches("input, select, textarea")
    || [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll("body, body *:not(svg *)")]
    .filter((element) => hasText(element) && element.checkVisibility())
    .map((element) => {
      const { color, fontSize, fontWeight } = getComputedStyle(element);
      return [element, [color, fontSize, fontWeight, ground(element)].join()];
    });
}"""
CONTRAST_OF_NEW_LOOKS = f"""async (known) => {{
  const isNew = new Map();
  for (const [element, look] of ({LOOKS})())
    if (!known.includes(look) && !isNew.has(look)) isNew.set(look, element);
  if (!isNew.size) return [[], []];
  const include = [...isNew.values()];
  const {{ violations }} = await axe.run(
    {{ include }}, {{ runOnly: ["color-contrast"], resultTypes: ["violations"] }});
  return [[...isNew.keys()], violations];
}}"""
# Other themes and widths keep the pictures that are loaded; the server draws each on request.
KEEP_PICTURES = "() => document.querySelectorAll('picture source').forEach((one) => one.remove())"
NO_CONTRAST = {"rules": {"color-contrast": {"enabled": False}}}


class ErrorCollector:
    """Collect console errors (including CSP violations) and failed requests of a page."""

    def __init__(self, page: Page) -> None:
        self._heard: list[str] = []
        page.on("console", self._console)
        page.on("requestfailed", self._request)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._heard.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        # Leaving a page aborts its pending requests.
        if request.failure != "net::ERR_ABORTED":
            self._heard.append(f"{request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._heard.append(f"{response.url}: {response.status}")

    def errors(self) -> list[str]:
        """Return the errors since the last call."""
        errors, self._heard = self._heard, []
        return errors


def unfold(page: Page) -> None:
    """Open all collapsed sections of the content."""
    page.locator("main details").evaluate_all(
        "folded => folded.forEach((one) => { one.open = true })"
    )


def sticking_out(page: Page) -> list[str]:
    """Return the elements that overflow, and the page if it is wider than its window."""
    found: list[str] = page.evaluate(STICKING_OUT)
    return found


def broken_pictures(page: Page) -> list[str]:
    """Wait for all pictures; return the URLs of those that failed to load."""
    found: list[str] = page.evaluate(BROKEN)
    return [f"broken picture {address}" for address in found]


def barriers(page: Page, **options: Any) -> list[str]:
    """Return what axe rates serious or critical, each with the first element concerned."""
    _load_axe(page)
    return _serious(page.evaluate(VIOLATIONS, {"resultTypes": ["violations"], **options}))


def faint_looks(page: Page, known: set[str]) -> list[str]:
    """Return the contrast violations of looks that are not in `known`, and add them to it.

    Contrast takes axe four times as long as all other rules, so equal elements are checked once.
    """
    _load_axe(page)
    looks, violations = page.evaluate(CONTRAST_OF_NEW_LOOKS, sorted(known))
    known.update(looks)
    return _serious(violations)


def keep_pictures(page: Page) -> None:
    """Keep the loaded pictures when the theme or the width changes."""
    page.evaluate(KEEP_PICTURES)


def _load_axe(page: Page) -> None:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)


def _serious(violations: list[Any]) -> list[str]:
    return [
        f"{found['id']} ({found['impact']}, {len(found['nodes'])}x): {found['nodes'][0]['html']}"
        for found in violations
        if found["impact"] in GRAVE
    ]
