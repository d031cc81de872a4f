"""The API serves the portal's data to those who may see it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.services import runs as measuring
from engagements.documents.models import Document
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.met()


def routes(story: Story) -> list[str]:
    ref = story.reference
    return [
        reverse("api-engagement", args=[ref]),
        reverse("api-runs", args=[ref]),
        reverse("api-run", args=[ref, story.engagement.runs.get().pk]),
        reverse("api-documents", args=[ref]),
    ]


def test_other_customers_get_404_on_every_page(client: Client, story: Story) -> None:
    client.force_login(story.stranger)
    for url in routes(story):
        assert client.get(url).status_code == 404, url
    listed = client.get(reverse("api-engagements")).json()["results"]
    assert [row["title"] for row in listed] == ["Somebody else's secret work"]


def test_the_api_requires_a_sign_in(client: Client, story: Story) -> None:
    for url in [reverse("api-engagements"), *routes(story)]:
        assert client.get(url).status_code == 403, url


def test_errors_outside_views_have_a_detail(
    client: Client, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret of the database")

    client.force_login(story.signatory)
    listed = reverse("api-engagements")
    assert set(client.get(f"{listed}nowhere/at/all/").json()) == {"detail"}
    unreadable = client.get(f"{listed}?limit=%00")
    assert unreadable.status_code == 400
    assert set(unreadable.json()) == {"detail"}
    monkeypatch.setattr("engagements.access.engagements_for", broken)
    client.raise_request_exception = False
    answer = client.get(listed)
    assert answer.status_code == 500
    assert set(answer.json()) == {"detail"}
    assert "secret" not in answer.json()["detail"]
    # People get a page.
    assert b'oops__code">404<' in client.get("/nowhere/").content


def test_the_api_of_customers_is_read_only(client: Client, story: Story) -> None:
    client.force_login(story.signatory)
    for url in [reverse("api-engagements"), *routes(story)]:
        for method in (client.post, client.put, client.patch, client.delete):
            assert method(url).status_code == 405, url


def test_an_engagement_names_its_stage_and_time_box(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    data = client.get(reverse("api-engagement", args=[story.reference])).json()
    assert data["stage"] == "met"
    assert data["customer"] == "Longprompt GmbH"
    assert data["time_box"]["starts_on"] == timezone.localdate().isoformat()
    assert client.get(data["runs_url"]).json()["count"] == 1
    (listed,) = client.get(reverse("api-engagements")).json()["results"]
    assert listed == data


def test_an_engagement_without_a_time_box_has_none(client: Client) -> None:
    story = stories.opened()
    client.force_login(story.viewer)
    data = client.get(reverse("api-engagement", args=[story.reference])).json()
    assert data["time_box"] is None


def test_a_measured_run_has_its_record(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    asked = story.engagement.runs.get()
    data = client.get(reverse("api-run", args=[story.reference, asked.pk])).json()
    record = asked.run.record
    assert data["record"]["digest"] == record.digest
    assert data["record"]["verdict"] == data["record"]["summary"]["verdict"] == "met"
    assert data["record"]["low"] <= data["record"]["ratio"] <= data["record"]["high"]
    assert data["progress"] is None
    assert "worker" not in str(data)


def test_a_running_run_shows_progress_and_hides_its_worker(client: Client) -> None:
    story = stories.underway()
    run = stories.running(stories.requested(story))
    progress = {"phase": "measuring", "replicate": 1, "replicates": 4, "message": "gpu-rack-7"}
    measuring.report_progress(run_id=run.pk, attempt=run.attempt, progress=progress)
    client.force_login(story.viewer)
    (data,) = client.get(reverse("api-runs", args=[story.reference])).json()["results"]
    assert data["progress"]["replicates"] == 4
    assert data["record"] is None
    assert "gpu-rack-7" not in str(data)


def test_trials_are_not_listed(client: Client) -> None:
    story = stories.underway()
    trial = stories.measured(story, 1.9, purpose="trial")
    client.force_login(story.viewer)
    assert client.get(reverse("api-runs", args=[story.reference])).json()["results"] == []
    assert client.get(reverse("api-run", args=[story.reference, trial.pk])).status_code == 404


def test_only_documents_for_the_customer_are_listed(client: Client, story: Story) -> None:
    for number, for_customer in ((1, True), (2, False)):
        Document.objects.create(
            engagement=story.engagement,
            kind="contract",
            subject=f"contract:{number}",
            title=f"Contract {number}",
            filename="contract.pdf",
            content=b"%PDF",
            size_bytes=4,
            digest="sha256:" + "0" * 64,
            for_customer=for_customer,
        )
    client.force_login(story.viewer)
    url = reverse("api-documents", args=[story.reference])
    listed = client.get(url).json()["results"]
    assert "Contract 1" in [row["title"] for row in listed]
    assert "Contract 2" not in [row["title"] for row in listed]
    assert listed[0]["url"].startswith("http://testserver/documents/")
