"""The workbench in a browser: uploads, live findings, the operator chosen by keyboard."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from engagements.audit import findings
from engagements.audit import services as audits
from engagements.evidence.models import Evidence
from tests.browser import page_actions, portfolio_pages
from tests.browser.conftest import Window
from tests.browser.page_checks import ErrorCollector
from tests.browser.test_appearance import Viewer
from tests.engagements import evidence_world, story
from tests.engagements.story import Story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def started() -> Story:
    case = story.opened()
    audits.start(
        engagement=case.engagement,
        cost=case.scenario.audit_cost,
        currency=case.customer.currency,
        by=case.consultant,
    )
    return case


def test_findings_appear_after_an_upload_without_a_reload(window: Window) -> None:
    case = started()
    page = window(case.consultant)
    ear = ErrorCollector(page)
    page.goto(reverse("engagement", args=[case.reference]))
    page.get_by_role("link", name="Workbench").click()
    expect(page.get_by_text("No profile yet")).to_be_visible()

    page.get_by_label("Add profiles and traffic").set_input_files(
        evidence_world.CAPTURES / evidence_world.DECODE
    )
    files = page_actions.section(page, "Files")
    expect(files.get_by_text("Queued")).to_be_visible()
    evidence_world.read(Evidence.objects.get())
    findings.compute_when_due(engagement=case.engagement)
    # The list of files polls, and loads the findings.
    profile = page_actions.section(page, "Profile")
    expect(profile.get_by_text("85.6%").first).to_be_visible()
    timeline = profile.get_by_role("group", name=re.compile("Timeline"))
    expect(timeline).to_contain_text(re.compile(r"attention\s*73.7%"))
    hot = page.get_by_role("article", name="Is the operation hot?")
    expect(hot.get_by_text("Pass", exact=True)).to_be_visible()

    choose_by_keyboard(page)
    expect(hot.get_by_text("Fail", exact=True)).to_be_visible()
    expect(hot.locator(".stat__note")).to_contain_text("5%")
    move_a_threshold(page)
    expect(hot.get_by_text("Pass", exact=True)).to_be_visible()
    page.locator("main a[href$='/report/']").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit report")
    expect(page.get_by_text("Changed thresholds")).to_be_visible()
    assert not ear.errors()


def choose_by_keyboard(page: Page) -> None:
    """Choose another operator than the suggested one by keyboard."""
    operator = page_actions.section(page, "Operator")
    operator.locator("input[type=radio][value='']").focus()
    for _ in range(10):
        page.keyboard.press("ArrowDown")
        if operator.get_by_role("radio", name=re.compile("^elementwise")).is_checked():
            break
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(operator.get_by_role("button", name="Audit this operator")).to_be_focused()
    page.keyboard.press("Enter")


def move_a_threshold(page: Page) -> None:
    """Lower the minimum share of a hot operator for this engagement."""
    page.get_by_text("Change thresholds…").click()
    page.get_by_label("Least share").fill("0.5")
    page.get_by_role("button", name="Set thresholds").click()


@pytest.mark.soak
def test_pages_about_evidence_fit_and_read_thoroughly(window: Window) -> None:
    case = portfolio_pages.examined(story.opened())
    viewer = Viewer(window)
    for url in portfolio_pages.bench_pages(case):
        viewer.look(case.consultant, url)
    assert not viewer.wrong, viewer.report()


def test_pages_about_evidence_fit_and_read_with_long_names(window: Window) -> None:
    case = portfolio_pages.examined(story.opened(), name="x" * 190 + ".json.gz")
    empty = portfolio_pages.another(case, "Just opened")
    viewer = Viewer(window)
    for url in [
        *portfolio_pages.bench_pages(case),
        reverse("engagement-workbench", args=[empty.reference]),
        reverse("engagement-evidence", args=[empty.reference]),
    ]:
        viewer.glance(case.consultant, url)
    assert not viewer.wrong, viewer.report()


def kernels_follow_the_window(page: Page) -> None:
    """Every call of a kernel is in one of the steps, and its time adds up over them."""
    tools = page.locator("[data-timeline]")
    row = page.locator("[data-kernel='0']")
    calls, time = row.locator("td").nth(1), row.locator("td").nth(3)

    def figures() -> tuple[int, float]:
        return int(calls.inner_text()), float(time.inner_text().removesuffix(" ms"))

    tools.locator("[data-whole]").click()
    whole = figures()
    parts = []
    for step in range(tools.locator("[data-step] option").count() - 1):
        tools.locator("[data-step]").select_option(str(step))
        parts.append(figures())
    assert 0 < parts[0][0] < whole[0]
    assert sum(part[1] for part in parts) == pytest.approx(whole[1], rel=0.05)
    expect(page.locator("[data-kernels-window]")).to_be_visible()
    tools.locator("[data-whole]").click()
    assert figures() == whole
    expect(page.locator("[data-kernels-window]")).to_be_hidden()


def test_the_timeline_zooms_to_a_step_to_numbers_and_to_what_is_dragged(window: Window) -> None:
    case = started()
    evidence_world.added(case.engagement, case.consultant, evidence_world.PREFILL)
    url = reverse("engagement-workbench", args=[case.reference])
    page = window(case.consultant)
    page.goto(url)
    tools = page.locator("[data-timeline]")
    expect(tools.locator("figure")).to_be_hidden()
    edges = [tools.locator("[data-from]"), tools.locator("[data-to]")]

    def shown() -> tuple[float, float]:
        low, high = (float(each.input_value()) for each in edges)
        return low, high

    whole = shown()
    tools.locator("[data-step]").select_option("0")
    step = shown()
    assert whole[0] <= step[0] < step[1] <= whole[1]
    share = tools.locator(".timeline__share").first
    before = share.inner_text()
    tools.locator("[data-whole]").click()
    assert shown() == whole
    edges[1].fill(str(whole[1] / 4))
    edges[1].press("Enter")
    assert shown()[1] == pytest.approx(whole[1] / 4, rel=1e-3)
    assert share.inner_text() != before

    tools.locator("[data-lanes]").focus()
    page.keyboard.press("ArrowRight")
    assert shown()[0] > 0
    page.keyboard.press("Escape")
    lane = tools.locator("[data-lanes] svg").nth(1)
    box = lane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 3 / 4, box["y"] + 5, steps=3)
    page.mouse.up()
    assert shown() == pytest.approx((whole[1] / 2, whole[1] * 3 / 4), rel=0.02)

    kernels_follow_the_window(page)

    plain = window(case.consultant, java_script_enabled=False)
    plain.goto(url)
    expect(plain.locator("[data-timeline] figure img")).to_be_visible()
    expect(plain.locator("[data-drawing]")).to_be_hidden()
