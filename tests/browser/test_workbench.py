"""The workbench in a browser: files dropped, findings that fill in, the operator chosen by keys."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from engagements.audit import findings
from engagements.audit import services as audits
from engagements.evidence.models import Evidence
from tests.browser import acts, staging
from tests.browser.conftest import Window
from tests.browser.looking import Ear
from tests.browser.test_looks import Viewer
from tests.engagements import evidence_world as kept
from tests.engagements import story
from tests.engagements.story import Story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def started() -> Story:
    told = story.opened()
    audits.start(
        engagement=told.engagement,
        cost=told.scenario.audit_cost,
        currency=told.customer.currency,
        by=told.consultant,
    )
    return told


def test_files_are_dropped_and_the_findings_fill_in(window: Window) -> None:
    told = started()
    page = window(told.consultant)
    ear = Ear(page)
    page.goto(reverse("engagement", args=[told.reference]))
    page.get_by_role("link", name="Workbench").click()
    expect(page.get_by_text("No profile yet")).to_be_visible()

    page.get_by_label("Add profiles and traffic").set_input_files(kept.CAPTURES / kept.DECODE)
    files = acts.section(page, "Files")
    expect(files.get_by_text("Waits for a worker")).to_be_visible()
    kept.read(Evidence.objects.get())
    findings.compute_when_due(engagement=told.engagement)
    # Nobody loads the page again: the list of files asks by itself and brings the bench.
    profile = acts.section(page, "Profile")
    expect(profile.get_by_text("85.6%").first).to_be_visible()
    expect(profile.get_by_role("img", name=re.compile("attention 73.7%"))).to_be_visible()
    hot = page.get_by_role("article", name="Is the operation hot?")
    expect(hot.get_by_text("Pass", exact=True)).to_be_visible()

    choose_by_keyboard(page)
    expect(hot.get_by_text("Fail", exact=True)).to_be_visible()
    expect(hot.get_by_text("wanted: at least 5% of the wall-clock time")).to_be_visible()
    move_a_threshold(page)
    expect(hot.get_by_text("Pass", exact=True)).to_be_visible()
    page.get_by_role("link", name="As the report").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit report")
    expect(page.get_by_text("Changed thresholds")).to_be_visible()
    assert not ear.heard()


def choose_by_keyboard(page: Page) -> None:
    """Another operator than the one suggested, without a mouse."""
    operator = acts.section(page, "Operator")
    operator.get_by_role("radio", name="The hottest, as suggested").focus()
    for _ in range(10):
        page.keyboard.press("ArrowDown")
        if operator.get_by_role("radio", name=re.compile("^elementwise")).is_checked():
            break
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(operator.get_by_role("button", name="Audit this operator")).to_be_focused()
    page.keyboard.press("Enter")


def move_a_threshold(page: Page) -> None:
    """The least share of a hot operator, lowered for this engagement."""
    page.get_by_text("Move the thresholds…").click()
    page.get_by_label("Least share").fill("0.005")
    page.get_by_role("button", name="Set the thresholds").click()


def test_every_page_about_evidence_fits_reads_and_is_silent(window: Window) -> None:
    told = staging.examined(story.opened())
    empty = staging.another(told, "Just opened")
    viewer = Viewer(window)
    for address in [
        *staging.bench_pages(told),
        reverse("engagement-workbench", args=[empty.reference]),
        reverse("engagement-evidence", args=[empty.reference]),
    ]:
        viewer.look(told.consultant, address)
    assert not viewer.wrong, viewer.report()


def test_a_bench_of_long_names_stays_within_its_window(window: Window) -> None:
    told = staging.examined(story.opened(), name="x" * 190 + ".json.gz")
    viewer = Viewer(window)
    for address in staging.bench_pages(told):
        viewer.look(told.consultant, address, thoroughly=False)
    assert not viewer.wrong, viewer.report()
