"""Evidence by API: a consultant adds files and looks how far they are."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements.common import uploads
from engagements.engagement.models import Engagement
from engagements.evidence import reading
from engagements.evidence.models import Evidence
from engagements.people import api_tokens
from engagements.people.models import User
from engagements.people.token_models import Scope
from tests.engagements import evidence_world
from tests.engagements.sessions import sign_in
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client, world: World) -> Client:
    client.force_login(world.consultant)
    return client


URL = "/api/v1/evidence/"


def calls(engagement: Engagement) -> dict[str, Any]:
    file = SimpleUploadedFile("calls.csv", evidence_world.TRAFFIC)
    return {"engagement": engagement.reference, "file": file}


def token_of(user: User, *scopes: str) -> str:
    scopes = scopes or (Scope.EVIDENCE,)
    return api_tokens.create(owner=user, name="Traces", scopes=scopes, by=user)[1]


def test_a_file_is_added_and_its_summary_read_once_a_worker_was_there(
    signed_in: Client, world: World
) -> None:
    answer = signed_in.post(URL, calls(world.scoping()))
    assert answer.status_code == 201
    assert (answer.json()["state"], answer.json()["added_by_name"]) == ("queued", "Connie")
    reading.read(evidence_id=answer.json()["id"])
    one = signed_in.get(f"{URL}{answer.json()['id']}/").json()
    assert (one["state"], one["format"], one["read_share"]) == ("read", "traffic", 1.0)
    assert one["summary"]["distinct_shapes"] == 12
    (listed,) = signed_in.get(URL).json()["results"]
    assert listed == {name: value for name, value in one.items() if name != "summary"}


def test_sent_twice_it_is_one_row(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    first, second = (signed_in.post(URL, calls(engagement)).json()["id"] for _ in range(2))
    assert first == second


def test_what_is_refused_says_why(signed_in: Client, world: World) -> None:
    sent = {"engagement": world.scoping().reference}
    assert signed_in.post(URL, sent).json()["code"] == "evidence.one_file"
    empty = signed_in.post(URL, {**sent, "file": SimpleUploadedFile("a.json", b"")})
    assert (empty.status_code, empty.json()["code"]) == (422, "evidence.file_empty")
    both = [SimpleUploadedFile(name, b"{}") for name in ("a.json", "b.json")]
    assert signed_in.post(URL, {**sent, "file": both}).status_code == 422
    nowhere = signed_in.post(URL, {"file": SimpleUploadedFile("a.json", b"{}")})
    assert (nowhere.status_code, nowhere.json()["errors"][0]["field"]) == (400, "engagement")
    assert not Evidence.objects.exists()


def test_too_long_a_request_is_refused_by_its_length(
    signed_in: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "FORM_BYTES", -uploads.MOST_BYTES * 1000)
    assert signed_in.post(URL, calls(world.scoping())).status_code == 400
    assert not Evidence.objects.exists()


def test_only_consultants_add_and_only_staff_reads(client: Client, world: World) -> None:
    engagement = world.scoping()
    row = evidence_world.added(engagement, world.consultant, "calls.csv", evidence_world.TRAFFIC)
    one = f"{URL}{row.pk}/"
    for person, read, written in [
        (None, 401, 401),
        (world.stranger, 404, 404),
        (world.signatory, 404, 404),
        (world.finance, 200, 403),
        (world.consultant, 200, 201),
    ]:
        client.logout()
        if person:
            client.force_login(person)
        assert client.get(URL).status_code == read
        assert client.get(one).status_code == read
        assert client.post(URL, calls(engagement)).status_code == written
        assert client.delete(one).status_code in (401, 405)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_program_sends_evidence_with_a_token_and_without_a_session(world: World) -> None:
    program = Client(enforce_csrf_checks=True)
    headers = bearer(token_of(world.consultant))
    sent = program.post(URL, calls(world.scoping()), headers=headers)
    assert (sent.status_code, sent.json()["added_by_name"]) == (201, "Connie")
    assert program.get(f"{URL}{sent.json()['id']}/", headers=headers).status_code == 200


def test_a_token_takes_files_as_large_as_its_owner_may_send(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 10)
    monkeypatch.setattr(uploads, "FORM_BYTES", 0)
    engagement = world.scoping()
    for person, status in [(world.consultant, 201), (world.finance, 403), (world.stranger, 404)]:
        answer = Client().post(URL, calls(engagement), headers=bearer(token_of(person)))
        assert answer.status_code == status


def test_a_consultant_makes_a_token_on_the_page_and_sees_it_once(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    page_url = reverse("engagement-evidence", args=[engagement.reference])
    sign_in(signed_in, world.consultant)
    made = signed_in.post(reverse("evidence-token", args=[engagement.reference]))
    assert made["Cache-Control"] == "no-store"
    shown = re.search(r'data-copy="([^"]{40,})"', made.content.decode())
    assert shown is not None
    token = api_tokens.find(shown[1])
    assert token is not None
    assert (token.owner, token.scopes) == (world.consultant, [Scope.EVIDENCE])
    page = signed_in.get(page_url).content.decode()
    assert shown[1] not in page
    assert "Authorization: Bearer $TOKEN" in page
    for person, status in [(world.finance, 403), (world.stranger, 404)]:
        signed_in.force_login(person)
        answer = signed_in.post(reverse("evidence-token", args=[engagement.reference]))
        assert answer.status_code == status


def test_a_token_needs_a_recent_reauthentication(client: Client, world: World) -> None:
    """It outlives the session by weeks: an open laptop is not enough."""
    world.consultant.set_password("a long enough sentence of words")
    world.consultant.save()
    client.force_login(world.consultant)
    token = reverse("evidence-token", args=[world.scoping().reference])
    asked = client.post(token)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    made = client.post(asked["Location"], {"password": "a long enough sentence of words"})
    shown = re.search(r'data-copy="([^"]{40,})"', made.content.decode())
    assert shown is not None
    assert api_tokens.find(shown[1]) is not None
    assert made["Cache-Control"] == "no-store"
