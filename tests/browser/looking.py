"""How a page looks and behaves, beyond what stands on it: width, contrast, names, silence."""

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
# Only what is wrong comes back: all that axe has found right takes long to hand over.
VIOLATIONS = "async (options) => (await axe.run(options)).violations"
AXE = Axe().axe_script
# Each visible element with what its contrast depends on: colours, and how large its letters are.
LOOKS = """() => [...document.querySelectorAll("body, body *")]
  .filter((element) => element.checkVisibility())
  .map((element) => {
    const s = getComputedStyle(element);
    const colours = [s.color, s.backgroundColor, s.backgroundImage, s.opacity];
    return [element, [...colours, s.fontSize, s.fontWeight].join()];
  })"""
NOTE_LOOKS = f"() => {{ window.looksNoted = new Map(({LOOKS})()) }}"
CONTRAST_OF_NEW_LOOKS = f"""async () => {{
  const other = ({LOOKS})().filter(([element, look]) => window.looksNoted.get(element) !== look);
  if (!other.length) return [];
  const include = other.map(([element]) => element);
  return (await axe.run({{ include }}, {{ runOnly: ["color-contrast"] }})).violations;
}}"""


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


def unfold(page: Page) -> None:
    """Open everything that is folded away in the content."""
    page.locator("main details").evaluate_all(
        "folded => folded.forEach((one) => { one.open = true })"
    )


def sticking_out(page: Page) -> list[str]:
    """What is wider than its place, or the page than its window; empty when nothing is."""
    found: list[str] = page.evaluate(STICKING_OUT)
    return found


def broken_pictures(page: Page) -> list[str]:
    """The addresses of pictures that cannot be drawn, once every picture has arrived."""
    found: list[str] = page.evaluate(BROKEN)
    return [f"broken picture {address}" for address in found]


def barriers(page: Page, **options: Any) -> list[str]:
    """What axe calls serious or critical, with the first element it is about."""
    return _grave(page, VIOLATIONS, {"resultTypes": ["violations"], **options})


def note_looks(page: Page) -> None:
    """Have the page remember what shows and in which colours, for `barriers_since`."""
    page.evaluate(NOTE_LOOKS)


def barriers_since(page: Page) -> list[str]:
    """`barriers` at another width: contrast only of what looks otherwise than when noted.

    To look for contrast takes axe four times as long as everything else does.
    """
    rest = {"rules": {"color-contrast": {"enabled": False}}}
    return [*barriers(page, **rest), *_grave(page, CONTRAST_OF_NEW_LOOKS)]


def _grave(page: Page, script: str, options: Any = None) -> list[str]:
    # A page keeps axe until it is left.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return [
        f"{found['id']} ({found['impact']}, {len(found['nodes'])}x): {found['nodes'][0]['html']}"
        for found in page.evaluate(script, options)
        if found["impact"] in GRAVE
    ]
