"""Who may take a run away, and whether the kernel's source goes along."""

import io
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from benchmarks.records import records, signatures
from benchmarks.verdict import consistency
from engagements.people.models import User
from engagements.runs.bundles import WITHHELD
from engagements.runs.models import EngagementRun
from tests import referee_key
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.underway()


def _names(client: Client, story: Story, asked: EngagementRun, user: User) -> list[str]:
    client.force_login(user)
    response = client.get(reverse("run-bundle", args=[story.reference, asked.pk]))
    assert response.status_code == 200
    assert response["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return archive.namelist()


def test_a_met_target_gives_the_customer_everything(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    names = _names(client, story, asked, story.viewer)
    assert {"README.txt", "benchmark.json", "record.json", "candidate.py", "referee.pub"} <= {
        *names
    }
    page = client.get(reverse("portal-run", args=[story.reference, asked.pk])).content.decode()
    assert reverse("run-bundle", args=[story.reference, asked.pk]) in page
    assert f"/keys/{referee_key.KEY.public.id}.pub" in page
    assert WITHHELD not in page


def test_the_source_stays_internal_after_a_missed_target(client: Client, story: Story) -> None:
    asked = stories.measured(story, 1.1)
    assert "candidate.py" not in _names(client, story, asked, story.viewer)
    for name in ("run-record", "portal-run-file"):
        named = ["record.json"] if name == "portal-run-file" else []
        got = client.get(reverse(name, args=[story.reference, asked.pk, *named]))
        record = records.load(got.content)
        assert record["candidate"]["source"] is None
        assert consistency.problems(record) == []
        signatures.check(got.content, referee_key.KEY.public)
    source = reverse("portal-run-file", args=[story.reference, asked.pk, "candidate"])
    assert client.get(source).status_code == 404
    page = client.get(reverse("portal-run", args=[story.reference, asked.pk])).content.decode()
    assert source not in page
    assert "candidate.py" in _names(client, story, asked, story.consultant)


def test_another_customer_finds_no_bundle(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    url = reverse("run-bundle", args=[story.reference, asked.pk])
    assert client.get(url).status_code == 302
    client.force_login(story.stranger)
    assert client.get(url).status_code == 404


def test_the_consultants_page_names_the_signer(client: Client, story: Story) -> None:
    asked = stories.measured(story, 2.6)
    client.force_login(story.consultant)
    page = client.get(reverse("run", args=[story.reference, asked.pk])).content.decode()
    assert "signed by The tests&#x27; referee" in page


def test_anybody_reads_the_public_keys(client: Client) -> None:
    row = referee_key.register()
    got = client.get(reverse("public-key", args=[row.key_id]))
    assert got["Content-Type"].startswith("text/plain")
    assert signatures.public_key(got.content) == referee_key.KEY.public
    assert row.key_id in client.get(reverse("verify")).content.decode()
    assert client.get(reverse("public-key", args=["0" * 16])).status_code == 404


def test_the_commands_write_a_bundle_and_take_a_record_back_in(
    client: Client, story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = stories.measured(story, 1.1)
    call_command("bundle", str(asked.pk), "--out", str(tmp_path / "customer.zip"))
    assert capsys.readouterr().out
    call_command("bundle", str(asked.pk), "--out", str(tmp_path / "b.zip"), "--with-source")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        archive.extract("record.json", tmp_path)
    call_command("record", "add", str(tmp_path / "record.json"), "--run", str(asked.pk))
    said = f"run {asked.pk};"
    assert said in capsys.readouterr().out
    call_command("record", "add", str(tmp_path / "record.json"))
    assert said in capsys.readouterr().out
    client.force_login(story.consultant)
    page = client.get(reverse("run", args=[story.reference, asked.pk])).content.decode()
    assert "<dt>Repeated</dt>" in page
    with (tmp_path / "endless").open("wb") as endless:
        endless.truncate(1 << 36)
    for command in (
        ["bundle", "0"],
        ["record", "add", str(tmp_path / "none")],
        ["record", "add", str(tmp_path)],
        ["record", "add", str(tmp_path / "endless")],
    ):
        with pytest.raises(CommandError):
            call_command(*command)
