"""The benchmark in the portal: live while it runs, plain words afterwards, repeatable."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from benchmarks.models import Verdict
from benchmarks.records import records
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.services import runs as measuring
from benchmarks.verdict import verdicts
from engagements.runs import record_files
from engagements.runs.estimates import Estimate
from engagements.runs.measured import meaning, shown
from engagements.runs.models import EngagementRun
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.underway()


def page_of(client: Client, story: Story, run: EngagementRun, name: str = "portal-run") -> str:
    client.force_login(story.viewer)
    return client.get(reverse(name, args=[story.reference, run.pk])).content.decode()


def test_a_run_in_the_queue_waits_its_turn(client: Client, story: Story) -> None:
    asked = stories.requested(story)
    client.force_login(story.viewer)
    shown = client.get(reverse("portal-run", args=[story.reference, asked.pk]))
    assert shown.context["live"].position == 0


def test_progress_is_shown_live_and_without_scripts(client: Client, story: Story) -> None:
    asked = stories.requested(story)
    run = stories.running(asked)
    progress = {
        "phase": "measuring",
        "replicate": 2,
        "replicates": 4,
        "round": 5,
        "rounds": 10,
        "ratio": 2.12,
        "low": 1.8,
        "high": 2.5,
        "message": "16x4096",
        "history": [],
    }
    measuring.report_progress(run_id=run.pk, attempt=run.attempt, progress=progress)
    for name in ("portal-run", "portal-run-live"):
        page = page_of(client, story, asked, name)
        assert "2.12×" in page
        assert 'aria-valuenow="31.2"' in page
        assert "gpu-rack-7" not in page
        assert 'hx-trigger="every 2s"' in page
    assert "<html" not in page


def test_the_live_part_turns_into_the_result_once_it_is_over_and_asks_no_more(
    client: Client, story: Story
) -> None:
    asked = stories.measured(story, 2.6)
    client.force_login(story.viewer)
    url = reverse("portal-run-live", args=[story.reference, asked.pk])
    response = client.get(url)
    page = response.content.decode()
    assert response.status_code == 286
    assert response["HX-Retarget"] == "#run"
    assert 'data-announce="Measured: Target met"' in page
    assert "<html" not in page
    assert "hx-trigger" not in page


def test_the_operator_and_the_controls_are_shown_beside_the_step(
    client: Client, story: Story
) -> None:
    page = page_of(client, story, stories.measured(story, 2.6))
    for section in ("alone", "controls-title", "workloads"):
        assert f'id="{section}"' in page
    assert "16x4096" in page


def test_what_is_downloaded_repeats_the_verdict(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    client.force_login(story.viewer)

    def fetch(name: str) -> bytes:
        response = client.get(reverse("portal-run-file", args=[story.reference, asked.pk, name]))
        assert "attachment" in response["Content-Disposition"]
        return response.content

    record = records.load(fetch("record.json"))
    assert records.digest_of(record) == asked.run.record.digest
    assert verdicts.recompute(record).verdict == "met"
    assert digest_of_bytes(fetch("benchmark.json")) == asked.run.benchmark.digest
    assert json.loads(fetch("benchmark.json")) == record["benchmark"]
    assert digest_of_bytes(fetch("candidate")) == record["candidate"]["source_digest"]


def test_a_record_is_recognised_by_its_digest_and_by_its_files(
    client: Client, story: Story
) -> None:
    asked = stories.measured(story, 1.1)
    url = reverse("portal-run-file", args=[story.reference, asked.pk, "record.json"])
    client.force_login(story.viewer)
    sourceless = client.get(url).content
    whole = record_files.content(asked, with_source=True)
    client.logout()
    for digest in (asked.run.record.digest, digest_of_bytes(sourceless), digest_of_bytes(whole)):
        page = client.get(reverse("verify-document"), {"digest": digest})
        assert (page.status_code, page.context["found"].since) == (
            200,
            asked.run.record.received_at,
        )
        assert story.reference not in page.content.decode()
    unknown = client.get(reverse("verify-document"), {"digest": digest_of_bytes(b"forged")})
    assert unknown.status_code == 404


def test_cached_pictures_are_revalidated_so_another_customer_sees_none(
    client: Client, story: Story
) -> None:
    asked = stories.measured(story, 2.6)
    url = reverse("portal-run-chart", args=[story.reference, asked.pk, "workloads", "light"])
    client.force_login(story.viewer)
    drawn = client.get(url)
    kept = {"If-None-Match": drawn["ETag"]}
    again = client.get(url, headers=kept)
    assert again.status_code == 304
    assert drawn["Cache-Control"] == again["Cache-Control"] == "private, no-cache"
    client.force_login(story.stranger)
    assert client.get(url, headers=kept).status_code == 404
    client.logout()
    assert client.get(url, headers=kept).status_code == 302


def test_a_lost_record_is_reported_and_its_result_remains(
    client: Client, story: Story, settings: LazySettings, tmp_path: Path
) -> None:
    asked = stories.measured(story, 2.6)
    empty = {**settings.STORAGES["records"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "records": empty}
    page = page_of(client, story, asked)
    assert 'role="alert"' in page
    assert 'id="result"' in page
    for name, more in (
        ("portal-run-chart", ["workloads", "light"]),
        ("portal-run-file", ["record.json"]),
        ("run-bundle", []),
    ):
        url = reverse(name, args=[story.reference, asked.pk, *more])
        assert client.get(url).status_code == 404


@pytest.mark.parametrize(
    ("verdict", "figure"),
    [
        (Verdict.MET, "24 minutes"),
        (Verdict.INCONCLUSIVE, "2.00×"),
        (Verdict.INVALID, None),
        (Verdict.DISQUALIFIED, None),
    ],
)
def test_a_run_that_does_not_count_shows_no_figure(verdict: Verdict, figure: str | None) -> None:
    text = shown(Estimate(EngagementRun(), 2.5, 1.2, 3.0, 2.0, verdict))
    assert (figure in text) if figure else not re.search(r"\d", text)


@pytest.mark.parametrize(
    ("ratio", "duration"),
    [(2.0, "30 minutes"), (1.0, "one hour with"), (0.5, "120 minutes"), (12.0, "5.0 minutes")],
)
def test_a_ratio_is_explained_by_an_hour_of_work(ratio: float, duration: str) -> None:
    assert duration in meaning(ratio)
