"""A phone is given pictures as narrow as itself, and nothing of them is cut off."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, ViewportSize

from engagements.catalogue import charts as catalogue_charts
from engagements.catalogue import queries as catalogue
from engagements.charts import slim
from engagements.people.models import Role
from tests.browser import portfolio_pages
from tests.browser.conftest import Window
from tests.browser.page_checks import broken_pictures
from tests.engagements.audit import test_charts as test_audit_charts
from tests.engagements.charts import test_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
# One of each kind in `make test`, all in `make soak`.
SHORT = ("interval", "timeline", "life", "all ratios")
# What is drawn beyond the edges of its picture, in points.
OVER_THE_EDGE = """(svg) => {
  const drawn = svg.getBBox(), sheet = svg.viewBox.baseVal;
  return Math.max(
    -drawn.x, -drawn.y, drawn.x + drawn.width - sheet.width, drawn.y + drawn.height - sheet.height
  );
}"""


@pytest.mark.parametrize(
    "names",
    [("interval", "timeline", "life", "all ratios"), pytest.param((), marks=pytest.mark.soak)],
)
def test_every_picture_for_a_phone_is_drawn_whole(browser: Browser, names: tuple[str, ...]) -> None:
    """One of each kind in `make test`, all in `make soak`."""
    drawings = {
        **test_charts.DRAWN,
        **test_audit_charts.DRAWN,
        "all ratios": lambda theme: catalogue_charts.catalogue_ratios(
            catalogue.sound(), theme=theme
        ),
        "all kernels": lambda theme: catalogue_charts.catalogue_roofline(
            catalogue.sound(), theme=theme
        ),
    }
    page = browser.new_page(viewport=PHONE)
    for name in names or drawings:
        draw = drawings[name]
        page.set_content(draw(theme="light_narrow"))
        svg = page.locator("svg").first
        width_pt = svg.evaluate("(svg) => svg.viewBox.baseVal.width")
        assert width_pt == pytest.approx(slim.WIDTH_IN * 72, abs=1), name
        assert svg.evaluate(OVER_THE_EDGE) < 1.5, name
    page.close()


def test_a_phone_asks_for_the_narrow_ones_and_a_desk_for_the_wide_ones(window: Window) -> None:
    page = window(portfolio_pages.newcomer(Role.CONSULTANT), reduced_motion="reduce")
    page.goto(reverse("catalogue"))
    asked = "pictures => pictures.map((picture) => picture.currentSrc.split('/').pop())"
    pictures = page.locator(".picture img")
    assert pictures.evaluate_all(asked) == ["ratios-light.svg", "roofline-light.svg"]
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert pictures.evaluate_all(asked) == ["ratios-dark_narrow.svg", "roofline-dark_narrow.svg"]
    assert not broken_pictures(page)
