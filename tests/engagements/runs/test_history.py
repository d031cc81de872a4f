"""The history of an engagement's runs: page, table, badge, and two runs side by side."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements.people.models import Membership
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db

SIDES = {"run": "consultant", "portal-run": "viewer"}


@pytest.fixture
def story() -> Story:
    """A trial at about 1.5 and an acceptance run at about 2.6."""
    story = stories.underway()
    stories.measured(story, 1.5, purpose="trial")
    stories.measured(story, 2.6)
    return story


def _page(client: Client, story: Story, page: str, name: str, **query: Any) -> Any:
    client.force_login(getattr(story, SIDES[page]))
    return client.get(reverse(f"{page}-{name}", args=[story.reference]), query)


@pytest.mark.parametrize(("page", "runs"), [("run", 2), ("portal-run", 1)])
def test_each_side_sees_its_runs_against_target_and_ceiling(
    client: Client, story: Story, page: str, runs: int
) -> None:
    shown = _page(client, story, page, "history")
    history = shown.context["history"]
    assert len(history.rows) == len(history.points) == runs
    newest = history.rows[0]
    assert newest.low <= newest.ratio <= newest.high
    assert history.target == 2.0
    assert history.ceiling > newest.ratio
    for row in history.rows:
        assert reverse(page, args=[story.reference, row.run.pk]) in shown.content.decode()
    name = history.workloads[0]
    at_one = _page(client, story, page, "history", workload=name, last="10").context["history"]
    loads = {load["name"]: load for load in newest.run.run.record.summary["workloads"]}
    assert at_one.rows[0].ratio == loads[name]["ratio"]
    assert _page(client, story, page, "history", benchmark="x", last="-1").status_code == 200


def test_the_table_has_a_line_for_each_run(client: Client, story: Story) -> None:
    answer = _page(client, story, "run", "history-csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["purpose"] for row in rows] == ["acceptance", "trial"]
    assert float(rows[0]["low"]) <= float(rows[0]["ratio"]) <= float(rows[0]["high"])


def test_two_runs_are_compared_and_customers_see_no_trial(client: Client, story: Story) -> None:
    newest, trial = (run.pk for run in story.engagement.runs.order_by("-pk"))
    both = _page(client, story, "run", "compare", left=trial, right=newest)
    assert [run.pk for run, _, _ in both.context["runs"]] == [trial, newest]
    assert both.context["same_benchmark"]
    for query in ({"left": trial}, {"left": "x", "right": newest}, {"left": 0, "right": newest}):
        assert _page(client, story, "run", "compare", **query).status_code == 404
    hidden = _page(client, story, "portal-run", "compare", left=trial, right=newest)
    assert hidden.status_code == 404
    alone = _page(client, story, "portal-run", "compare", left=newest, right=newest)
    assert not alone.context["shows_source"]


def test_before_a_measured_run_there_is_no_history(client: Client) -> None:
    story = stories.underway()
    assert _page(client, story, "run", "history").context["history"] is None
    assert _page(client, story, "run", "history-csv").content.count(b"\n") == 1


def test_a_badge_has_the_newest_acceptance_run_for_who_has_its_address(
    client: Client, story: Story
) -> None:
    url = _page(client, story, "portal-run", "history").context["badge_url"]
    client.logout()
    drawn = client.get(url)
    assert drawn["Content-Type"].startswith("image/svg+xml")
    assert "met 2." in drawn.content.decode()
    assert story.reference not in drawn.content.decode()
    forged = reverse("run-badge", args=[story.reference])
    assert client.get(forged).status_code == 404


def test_another_customer_finds_none_of_these_pages(client: Client, story: Story) -> None:
    newest = story.engagement.runs.first()
    assert newest is not None
    other = stories.member(stories.company("Elsewhere"), "eve", Membership.Rights.VIEWER)
    client.force_login(other)
    query = {"left": newest.pk, "right": newest.pk}
    for page in SIDES:
        for name in ("history", "history-csv", "compare"):
            url = reverse(f"{page}-{name}", args=[story.reference])
            assert client.get(url, query).status_code == 404, url
