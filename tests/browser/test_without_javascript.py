"""Scripts only make it pleasant: without them everybody still does their part."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks.services import runs as measuring
from engagements.audit.models import Finding
from engagements.contracts.models import Acceptance
from engagements.people.models import User
from engagements.runs.models import EngagementRun
from tests.browser import acts, staging
from tests.browser.conftest import Window
from tests.engagements import story
from tests.engagements.charts.measured import record
from tests.signing import signed

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a password to type"


@pytest.fixture
def plain(window: Window) -> Window:
    """Windows without JavaScript; `plain(user)` has signed in by its page."""

    def enter(user: User, **options: Any) -> Page:
        user.set_password(PASSWORD)
        user.save()
        page = window(java_script_enabled=False, **options)
        page.goto("/")
        acts.sign_in(page, user.email, PASSWORD)
        expect(page.get_by_role("banner").get_by_text(user.name)).to_be_visible()
        return page

    return enter


def test_a_consultant_answers_a_check_and_has_a_run_measured(plain: Window) -> None:
    told = staging.under_contract(story.opened())
    halfway = staging.half_audited(staging.another(told, "Half audited"))
    page = plain(told.consultant)

    page.get_by_role("link", name="Half audited").click()
    page.get_by_role("link", name="Go on with the audit").click()
    outcome, value, rationale = told.scenario.findings["survives"]
    acts.answer(page, "survives", outcome=outcome, value=value, rationale=rationale)
    found = Finding.objects.get(audit=halfway.engagement.audit, check_name="survives")
    assert (found.outcome, found.value) == (outcome, value)

    page.get_by_role("link", name="Board").first.click()
    page.get_by_role("link", name=told.engagement.title).click()
    acts.request_run(page, "shared_prefix_attention/torch_cascade")
    asked = EngagementRun.objects.get()
    expect(page.get_by_role("heading", name="Queued")).to_be_visible()

    conclude(asked)
    # The page loads itself anew every few seconds.
    expect(page.get_by_role("heading", name="Missed", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name="target 2.00").first).to_be_visible()


def conclude(asked: EngagementRun) -> None:
    """What a worker would do, were there one."""
    run = measuring.claim(run_id=asked.run_id, worker="worker:1")
    assert run is not None
    content = signed(
        record(speedup=1.2, document=run.benchmark.document, source=run.solution.source)
    )
    measuring.finish(run_id=run.pk, attempt=run.attempt, record_bytes=content)


def test_a_signatory_accepts_the_contract(plain: Window) -> None:
    told = story.offered(story.audited(story.opened()))
    page = plain(told.signatory)

    page.get_by_role("link", name=told.engagement.title).click()
    page.get_by_role("link", name="Read the contract").click()
    page.get_by_label("I have read these terms").check()
    acts.accept(page, "   ", "Accept contract")
    acts.prove(page, PASSWORD)
    expect(page.get_by_text("Type your full name: it is your signature.")).to_be_visible()
    expect(page.get_by_label("I have read these terms")).to_be_checked()
    acts.accept(page, told.signatory.name, "Accept contract")

    acts.told(page, "You have accepted the contract.")
    accepted = Acceptance.objects.get()
    assert (accepted.user, accepted.contract_version) == (told.signatory, told.contract)
