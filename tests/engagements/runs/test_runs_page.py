"""Runs: asked for from the catalogue or a file, watched live, read afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from benchmarks.models import Run
from benchmarks.services import runs as measuring
from engagements.runs import live
from engagements.runs.models import EngagementRun
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db

SOURCE = (
    b"def prepare(state, axes):\n    return state\n\n\ndef run(prepared, inputs, out):\n    pass\n"
)


@pytest.fixture
def story(client: Client) -> Story:
    story = stories.underway()
    client.force_login(story.consultant)
    return story


def ask(client: Client, story: Story, **changes: Any) -> Any:
    data = {
        "purpose": "trial",
        "candidate": "shared_prefix_attention/torch_cascade",
        "request_key": str(uuid4()),
    }
    return client.post(reverse("run-request", args=[story.reference]), data | changes)


def test_a_double_click_asks_for_one_run(client: Client, story: Story) -> None:
    key = str(uuid4())
    first, second = (ask(client, story, request_key=key) for _ in range(2))
    asked = EngagementRun.objects.get()
    assert asked.run.solution.name == "torch_cascade"
    assert first["Location"] == second["Location"]
    assert first["Location"] == reverse("run", args=[story.reference, asked.pk])


def test_a_file_is_taken_as_the_candidate(client: Client, story: Story) -> None:
    response = ask(client, story, candidate="file", file=SimpleUploadedFile("mine.py", SOURCE))
    assert response.status_code == 302
    solution = EngagementRun.objects.get().run.solution
    assert (solution.name, solution.source) == ("mine", SOURCE.decode())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("mine.py", b"", "mine.py is empty"),
        ("mine.py", b"   \n", "The source is empty"),
        ("mine.py", b"\x7fELF\0\0", "is a binary file"),
        ("mine.py", "r\u00e9sum\u00e9 = 1".encode("latin-1"), "is not UTF-8 text"),
        ("mine.py", b"#" * (1024 * 1024 + 1), "at most 512 KiB"),
        ("mine.py", b"def run(:\n", "line 1"),
        ("my kernel.py", SOURCE, "Rename the file"),
        ("mine.so", SOURCE, "Rename the file"),
        ("; rm -rf ~.py", SOURCE, "Rename the file"),
        ("<script>.py", SOURCE, "Rename the file"),
        ("x" * 150 + ".py", SOURCE, "Rename the file"),
    ],
)
def test_a_file_that_cannot_be_a_solution_is_said_so(
    client: Client, story: Story, name: str, content: bytes, said: str
) -> None:
    response = ask(client, story, candidate="file", file=SimpleUploadedFile(name, content))
    page = response.content.decode()
    assert response.status_code == 422
    assert said in page
    assert "<script>.py" not in page
    assert not Run.objects.exists()


def test_a_path_in_a_filename_leads_nowhere(client: Client, story: Story) -> None:
    ask(client, story, candidate="file", file=SimpleUploadedFile("../../etc/mine.py", SOURCE))
    assert EngagementRun.objects.get().run.solution.filename == "mine.py"


def test_a_file_survives_an_error_elsewhere_in_the_form(client: Client, story: Story) -> None:
    file = SimpleUploadedFile("mine.py", SOURCE)
    page = ask(client, story, candidate="file", purpose="", file=file)
    assert page.status_code == 422
    form = page.context["form"]
    kept = {name: form[name].value() for name in ("kept_name", "kept_source")}
    assert kept == {"kept_name": "mine.py", "kept_source": SOURCE.decode()}
    assert ask(client, story, candidate="file", **kept).status_code == 302
    assert EngagementRun.objects.get().run.solution.source == SOURCE.decode()


@pytest.mark.parametrize(
    "changes",
    [
        {"candidate": "file"},
        {"candidate": ""},
        {"candidate": "shared_prefix_attention/gone"},
        {"candidate": "windowed_skip_attention/torch_window"},
        {"purpose": "fun"},
        {"request_key": "not a key"},
        {"request_key": ""},
    ],
)
def test_a_form_with_a_gap_asks_for_nothing(
    client: Client, story: Story, changes: dict[str, str]
) -> None:
    assert ask(client, story, **changes).status_code == 422
    assert not Run.objects.exists()


def test_a_second_acceptance_run_waits_for_the_first(client: Client, story: Story) -> None:
    assert ask(client, story, purpose="acceptance").status_code == 302
    response = ask(client, story, purpose="acceptance")
    assert response.status_code == 422
    assert response.context["form"].non_field_errors()


def test_before_a_contract_a_trial_names_its_benchmark(client: Client) -> None:
    story = stories.delivered()
    client.force_login(story.consultant)
    response = ask(client, story)
    assert response.status_code == 422
    assert not Run.objects.exists()


def test_a_queued_run_says_when_it_starts(client: Client, story: Story) -> None:
    asked = stories.requested(story)
    page = client.get(reverse("run", args=[story.reference, asked.pk])).content.decode()
    assert "First in the queue" in page
    assert 'hx-trigger="every 1500ms"' in page
    assert 'http-equiv="refresh"' in page


def progress(asked: EngagementRun, **changes: Any) -> None:
    run = stories.running(asked)
    shown: dict[str, Any] = {
        "phase": "measuring",
        "replicate": 1,
        "replicates": 3,
        "round": 6,
        "rounds": 12,
        "ratio": None,
        "low": None,
        "high": None,
        "message": "",
        "history": [],
    }
    measuring.report_progress(run_id=run.pk, attempt=run.attempt, progress=shown | changes)


def test_before_the_first_round_there_is_no_number(client: Client, story: Story) -> None:
    asked = stories.requested(story)
    progress(asked)
    page = client.get(reverse("run-live", args=[story.reference, asked.pk])).content.decode()
    assert "ratio-bar__point" not in page
    assert "0.00×" not in page


def test_the_estimate_is_drawn_against_the_target_as_it_closes_in(
    client: Client, story: Story
) -> None:
    asked = stories.requested(story)
    history = [
        {"at_s": 1.0, "ratio": 2.9, "low": None, "high": None},
        {"at_s": 2.0, "ratio": 2.5, "low": 1.9, "high": 3.4},
        {"at_s": 3.0, "ratio": 2.4, "low": 2.2, "high": 2.6},
    ]
    progress(asked, ratio=2.4, low=2.2, high=2.6, history=history)
    response = client.get(reverse("run-live", args=[story.reference, asked.pk]))
    page = response.content.decode()
    assert "Ratio 2.40×, interval 2.20× to 2.60×, target 2.00×" in page
    assert 'class="curve__band"' in page
    assert "replicate 1 of 3" in page
    assert "<html" not in page
    assert response["Cache-Control"] == "no-store"


def test_close_lines_are_labelled_away_from_each_other() -> None:
    history = [{"at_s": at, "ratio": 1.3, "low": None, "high": None} for at in (1.0, 2.0)]
    close, apart = live.curve_of(history, 1.2), live.curve_of(history, 2.0)
    assert close is not None
    assert apart is not None
    assert (close.is_crowded, close.is_above, apart.is_crowded) == (True, False, False)


def test_an_open_run_has_its_state_once_where_it_is_refreshed(client: Client, story: Story) -> None:
    asked = stories.requested(story)
    page = client.get(reverse("run", args=[story.reference, asked.pk])).content.decode()
    assert page.count("Queued") == page.count("Queued", page.index('id="live"')) > 0


def test_a_disqualified_run_without_checks_claims_no_chance(client: Client, story: Story) -> None:
    asked = stories.finished(stories.requested(story), 2.6)
    caught = {"ratio": None, "low": None, "high": None}
    summary = asked.run.record.summary
    workloads = [each | caught for each in summary["workloads"]]
    detection = "a candidate wrong on 1% of calls is caught with 0.00%"
    summary |= caught | {"workloads": workloads, "calls_checked": 0, "detection": detection}
    text = render_to_string("runs/_measured.html", {"data": {"summary": summary}})
    assert "– to –" not in text
    assert "0.00%" not in text


def test_the_polling_stops_with_the_whole_result(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    response = client.get(reverse("run-live", args=[story.reference, asked.pk]))
    assert response.status_code == 286
    assert response["HX-Retarget"] == "#run"
    assert "hx-trigger" not in response.content.decode()


def test_a_measured_run_shows_everything_that_was_measured(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    page = client.get(reverse("run", args=[story.reference, asked.pk])).content.decode()
    record = asked.run.record
    for shown in (record.digest, asked.run.benchmark.digest, asked.run.solution.digest):
        assert shown in page
    for workload in asked.run.benchmark.document["workloads"]:
        assert workload["name"] in page
    for kept in ("Controls", "Same code on both sides", "pairs of rounds count", "limits"):
        assert kept in page
    assert "Environment" in page
    assert reverse("run-picture", args=[story.reference, asked.pk, "roofline", "dark"]) in page


def test_the_record_is_downloaded_as_it_is_stored(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    response = client.get(reverse("run-record", args=[story.reference, asked.pk]))
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response.json()["digest"] == asked.run.record.digest


def test_pictures_are_drawn_by_theme_and_cached(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    drawn = set()
    for theme in ("light", "dark_narrow"):
        url = reverse("run-picture", args=[story.reference, asked.pk, "interval", theme])
        first = client.get(url)
        assert first["Content-Type"].startswith("image/svg+xml")
        assert "default-src 'none'" in first["Content-Security-Policy"]
        again = client.get(url, headers={"If-None-Match": first["ETag"]})
        assert again.status_code == 304
        drawn.add(first.content)
    assert len(drawn) == 2
    wrong = ("nothing", "light"), ("interval", "sepia")
    for name, theme in wrong:
        url = reverse("run-picture", args=[story.reference, asked.pk, name, theme])
        assert client.get(url).status_code == 404


def test_a_failed_run_gives_its_reason_and_no_number(client: Client, story: Story) -> None:
    asked = stories.failed(story)
    page = client.get(reverse("run", args=[story.reference, asked.pk])).content.decode()
    assert "lost its device" in page
    assert "Request another run" in page
    assert "0.00×" not in page
    assert client.get(reverse("run-record", args=[story.reference, asked.pk])).status_code == 404


def test_the_page_of_a_lost_record_reports_the_loss(
    client: Client, story: Story, settings: LazySettings, tmp_path: Path
) -> None:
    asked = stories.measured(story, 2.6)
    empty = {**settings.STORAGES["records"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "records": empty}
    response = client.get(reverse("run", args=[story.reference, asked.pk]))
    assert response.status_code == 200
    assert "cannot be read from storage" in response.content.decode()
    for name in ("run-record", "run-picture"):
        more = ["interval", "light"] if name == "run-picture" else []
        url = reverse(name, args=[story.reference, asked.pk, *more])
        assert client.get(url).status_code == 404
