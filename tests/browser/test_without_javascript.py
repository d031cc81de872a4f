"""Pages without JavaScript: findings, runs and signatures still work."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from engagements.audit.models import Finding
from engagements.contracts.signing_models import Acceptance
from engagements.people.models import User
from engagements.runs import explanations
from engagements.runs.models import EngagementRun
from tests.browser import page_actions, portfolio_pages
from tests.browser.conftest import Window
from tests.engagements import story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a password to type"


@pytest.fixture
def plain(window: Window) -> Window:
    """Open windows without JavaScript, signed in by the page."""

    def enter(user: User, **options: Any) -> Page:
        user.set_password(PASSWORD)
        user.save()
        page = window(java_script_enabled=False, **options)
        page.goto(reverse("account_login"))
        page_actions.sign_in(page, user.email, PASSWORD)
        expect(page.get_by_role("banner").get_by_text(user.name)).to_be_visible()
        return page

    return enter


@pytest.mark.soak
def test_a_consultant_records_a_finding(plain: Window) -> None:
    case = portfolio_pages.half_audited(story.opened())
    page = plain(case.consultant)

    page_actions.follow(page, "engagement", case.reference)
    page_actions.follow(page, "engagement-audit", case.reference)
    outcome, value, rationale = case.scenario.findings["survives"]
    page_actions.answer(page, case.reference, "survives", outcome, value, rationale)

    found = Finding.objects.get(audit=case.engagement.audit, check_name="survives")
    assert (found.outcome, found.value) == (outcome, value)


@pytest.mark.soak
def test_a_consultant_has_a_run_measured(plain: Window) -> None:
    case = story.underway()
    page = plain(case.consultant)

    page_actions.follow(page, "engagement", case.reference)
    page_actions.request_run(page, case.reference, "shared_prefix_attention/torch_cascade")
    asked = EngagementRun.objects.get()
    expect(page).to_have_url(reverse("run", args=[case.reference, asked.pk]))
    expect(page.locator("#live")).to_be_visible()

    story.finished(asked, 1.2)
    # The page reloads itself every few seconds.
    verdict = page_actions.panel(page, "verdict-title")
    asked.refresh_from_db()
    headline = explanations.headline_of(asked, "missed")
    expect(verdict.get_by_role("heading")).to_have_text(headline)
    expect(verdict.get_by_role("img")).to_be_visible()


def test_a_signatory_accepts_the_contract(plain: Window) -> None:
    case = story.on_offer()
    page = plain(case.signatory)

    page_actions.follow(page, "portal-engagement", case.reference)
    page_actions.follow(page, "portal-contract", case.reference)
    form = page_actions.form_to(
        page, "portal-contract-accept", case.reference, case.contract.number
    )
    page_actions.check(form, "agreed")
    page_actions.accept(form, "   ")
    page_actions.prove(page, PASSWORD)
    expect(page.locator("#id_typed_name_error")).to_be_visible()
    expect(form.locator("[name=agreed]")).to_be_checked()
    page_actions.accept(form, case.signatory.name)

    page_actions.expect_done(page)
    accepted = Acceptance.objects.get()
    assert (accepted.user, accepted.contract_version) == (case.signatory, case.contract)
