"""The customer's page of an engagement, at every stage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engagements.audit import overrides
from engagements.audit import services as audits
from engagements.contracts import acceptances, amendments, offers
from engagements.contracts.drafting import PauseDraft
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import Party
from engagements.engagement.models import Stage
from engagements.people.models import Role
from engagements.portal.status import NOBODY, US, YOU
from tests.engagements import story as stories
from tests.engagements.sessions import sign_in
from tests.engagements.story import Story
from tests.engagements.world import person

pytestmark = pytest.mark.django_db


def shown_to(client: Client, story: Story) -> Any:
    """The response with the engagement's page, for its signatory."""
    client.force_login(story.signatory)
    response = client.get(reverse("portal-engagement", args=[story.reference]))
    assert response.status_code == 200
    return response


def page_of(client: Client, story: Story) -> str:
    return shown_to(client, story).content.decode()


def test_findings_stay_unseen_until_the_audit_is_delivered(client: Client) -> None:
    story = stories.opened()
    audit = audits.start(
        engagement=story.engagement,
        cost=story.scenario.audit_cost,
        currency="EUR",
        by=story.consultant,
    )
    audits.record_finding(
        audit=audit,
        check="hot",
        outcome="fail",
        value="2%",
        rationale="A first guess that may be wrong.",
        by=story.consultant,
    )
    shown = shown_to(client, story)
    assert "first guess" not in shown.content.decode()
    assert shown.context["checks"] == []


def test_the_six_checks_are_explained(client: Client) -> None:
    shown = shown_to(client, stories.delivered())
    assert shown.context["page"].passed == 5
    assert shown.content.decode().count("finding__number") == 6


def test_an_overridden_finding_shows_both_outcomes(
    client: Client,
) -> None:
    story = stories.opened()
    audit = audits.start(
        engagement=story.engagement,
        cost=story.scenario.audit_cost,
        currency="EUR",
        by=story.consultant,
    )
    for check, (outcome, value, rationale) in story.scenario.findings.items():
        audits.record_finding(
            audit=audit,
            check=check,
            outcome=outcome,
            value=value,
            rationale=rationale,
            by=story.consultant,
        )
    finding = overrides.propose(
        finding=audit.findings.get(check_name="maintain"),
        outcome="fail",
        reason="Their platform team was dissolved in May.",
        by=story.consultant,
    )
    overrides.confirm(finding=finding, by=person("Grace", Role.CONSULTANT))
    audits.deliver(audit=audit, by=story.consultant)
    shown = shown_to(client, story)
    [line] = [line for line in shown.context["page"].checks if line.found]
    assert (line.check.name, line.outcome, line.found) == ("maintain", "fail", "unknown")
    page = shown.content.decode()
    assert 'data-override="maintain"' in page
    assert "platform team was dissolved" in page
    assert "still deciding who will own" in page


def test_an_offer_is_the_signatorys_turn(client: Client) -> None:
    story = stories.on_offer()
    step = shown_to(client, story).context["next"]
    assert step.who_label == YOU
    assert step.url == reverse("portal-contract", args=[story.reference])


def test_work_under_way_shows_the_week_and_what_is_paid(client: Client) -> None:
    story = stories.underway()
    page = page_of(client, story)
    assert "week 1 of 6" in page
    assert story.invoice.reference in page
    assert "EUR\xa017,136.00 of EUR\xa057,120.00" in page


def test_a_run_under_way_can_be_watched(client: Client) -> None:
    story = stories.underway()
    asked = stories.requested(story)
    step = shown_to(client, story).context["next"]
    assert step.url == reverse("portal-run", args=[story.reference, asked.pk])


def test_a_met_target_asks_for_the_handover(client: Client) -> None:
    story = stories.met()
    # The time to bring a benchmark is over.
    bring = reverse("portal-benchmark", args=[story.reference])
    assert bring not in shown_to(client, story).content.decode()
    url = reverse("portal-handover", args=[story.reference])
    for delivered, whose in ((False, US), (True, YOU)):
        if delivered:
            handovers.hand_over(engagement=story.engagement, by=story.consultant)
        step = shown_to(client, story).context["next"]
        assert (step.who_label, step.url) == (whose, url)
    sign_in(client, story.signatory)
    assert client.post(url).status_code == 422
    assert client.post(url, {"agreed": "on"}).status_code == 302
    assert story.milestone(4).state == Milestone.State.RELEASED
    assert client.post(url, {"agreed": "on"}).status_code == 302
    assert 'name="agreed"' not in client.get(url).content.decode()


def test_a_handover_before_the_target_is_met_is_refused(client: Client) -> None:
    story = stories.underway()
    sign_in(client, story.signatory)
    url = reverse("portal-handover", args=[story.reference])
    assert client.post(url, {"agreed": "on"}).status_code == 422
    assert story.milestone(4).state == Milestone.State.PENDING


def test_internals_stay_inside(client: Client) -> None:
    story = stories.underway()
    stories.failed(story)
    page = page_of(client, story)
    run = story.engagement.runs.get()
    live = client.get(reverse("portal-run", args=[story.reference, run.pk])).content.decode()
    for text in (page, live):
        assert "gpu-rack-7" not in text
        assert "127.0.0.1" not in text


def test_a_page_takes_as_many_queries_with_ten_milestones_as_with_one(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    story = stories.met()
    client.force_login(story.viewer)
    with django_assert_max_num_queries(39):
        client.get(reverse("portal-engagement", args=[story.reference]))


def pause_from_today(story: Story) -> None:
    """The clock stands from today on, as both agreed."""
    today = timezone.localdate()
    pause = PauseDraft(today, today + timedelta(days=4), "Legal", "The data is not cleared yet.")
    drafted = amendments.draft(
        engagement=story.engagement,
        change="pause",
        reason="No data.",
        by=story.consultant,
        pause=pause,
    )
    offered = offers.offer(contract=drafted, by=story.consultant)
    for by, party in ((story.consultant, Party.CONSULTANCY), (story.signatory, Party.CUSTOMER)):
        acceptances.accept(
            contract=offered, party=party, typed_name=by.name, digest=offered.digest, by=by
        )


def test_a_paused_time_box_names_the_party_and_the_reason(client: Client) -> None:
    story = stories.underway()
    pause_from_today(story)
    resumes = timezone.localdate() + timedelta(days=5)
    client.force_login(story.signatory)
    page = client.get(reverse("portal-engagement", args=[story.reference])).content.decode()
    assert "week 1 of 6" in page
    assert f"{resumes.day} {resumes:%B %Y}" in page
    assert "The data is not cleared yet." in page
    assert "Legal" in client.get(reverse("portal")).content.decode()
    client.force_login(story.consultant)
    for page_of in (reverse("board"), reverse("engagement", args=[story.reference])):
        assert "Legal" in client.get(page_of).content.decode()


def test_a_time_box_that_ran_out_says_so(client: Client, on_day: Callable[[date], None]) -> None:
    story = stories.underway()
    client.force_login(story.signatory)
    on_day(timezone.localdate() + timedelta(weeks=7))
    client.force_login(story.signatory)
    shown = client.get(reverse("portal-engagement", args=[story.reference]))
    assert shown.context["page"].clock.is_over


@pytest.mark.parametrize("stage", [Stage.REDIRECTED, Stage.DECLINED])
def test_an_audit_that_advises_against_custom_work_ends_the_engagement(
    client: Client, stage: Stage
) -> None:
    story = stories.opened()
    wanted = 3 if stage == Stage.REDIRECTED else 1
    audit = audits.start(
        engagement=story.engagement,
        cost=story.scenario.audit_cost,
        currency="EUR",
        by=story.consultant,
    )
    for position, (check, finding) in enumerate(story.scenario.findings.items()):
        outcome, value, rationale = finding if position < wanted else ("unknown", "", "Not shown.")
        audits.record_finding(
            audit=audit,
            check=check,
            outcome=outcome,
            value=value,
            rationale=rationale,
            by=story.consultant,
        )
    audits.deliver(audit=audit, by=story.consultant)
    shown = shown_to(client, story)
    story.engagement.refresh_from_db()
    assert story.engagement.stage == stage
    assert shown.context["page"].passed == wanted
    assert shown.context["next"].who_label == NOBODY


def test_a_long_list_is_read_page_by_page(client: Client) -> None:
    story = stories.opened()
    for number in range(20):
        stories.start_another(story, f"Engagement number {number}")
    client.force_login(story.viewer)
    first = client.get(reverse("portal")).content.decode()
    assert "Page 1 of 2" in first
    assert story.engagement.title not in first
    assert story.engagement.title in client.get(reverse("portal") + "?page=2").content.decode()
