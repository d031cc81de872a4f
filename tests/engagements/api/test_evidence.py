"""Evidence by API: a consultant adds files and looks how far they are."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements import uploads
from engagements.models import Evidence
from engagements.services import evidence_reading
from tests.engagements import evidence_world as kept
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client, world: World) -> Client:
    client.force_login(world.consultant)
    return client


def calls() -> dict[str, SimpleUploadedFile]:
    return {"file": SimpleUploadedFile("calls.csv", kept.TRAFFIC)}


def test_a_file_is_added_and_its_summary_read_once_a_worker_was_there(
    signed_in: Client, world: World
) -> None:
    address = reverse("api-evidence", args=[world.scoping().reference])
    answer = signed_in.post(address, calls())
    assert answer.status_code == 201
    assert (answer.json()["state"], answer.json()["added_by_name"]) == ("queued", "Connie")
    evidence_reading.read(evidence_id=answer.json()["id"])
    one = signed_in.get(answer.json()["url"]).json()
    assert (one["state"], one["format"], one["read_share"]) == ("read", "traffic", 1.0)
    assert one["summary"]["distinct_shapes"] == 12
    (listed,) = signed_in.get(address).json()["results"]
    assert listed == {name: value for name, value in one.items() if name != "summary"}


def test_sent_twice_it_is_one_row(signed_in: Client, world: World) -> None:
    address = reverse("api-evidence", args=[world.scoping().reference])
    first, second = (signed_in.post(address, calls()).json()["id"] for _ in range(2))
    assert first == second


def test_what_is_refused_says_why(signed_in: Client, world: World) -> None:
    address = reverse("api-evidence", args=[world.scoping().reference])
    assert "file" in signed_in.post(address).json()["detail"]
    empty = signed_in.post(address, {"file": SimpleUploadedFile("a.json", b"")})
    assert (empty.status_code, empty.json()["detail"]) == (422, "a.json is empty.")


def test_too_long_a_request_is_refused_by_its_length(
    signed_in: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("api-evidence", args=[world.scoping().reference])
    monkeypatch.setattr(uploads, "FORM_BYTES", -uploads.MOST_BYTES * 1000)
    assert signed_in.post(address, calls()).status_code == 400
    assert not Evidence.objects.exists()


def test_only_consultants_add_and_only_the_house_reads(client: Client, world: World) -> None:
    engagement = world.scoping()
    row = kept.added(engagement, world.consultant, "calls.csv", kept.TRAFFIC)
    every = reverse("api-evidence", args=[engagement.reference])
    one = reverse("api-one-evidence", args=[engagement.reference, row.pk])
    for person, read, written in [
        (None, 403, 403),
        (world.stranger, 404, 404),
        (world.signatory, 404, 404),
        (world.finance, 200, 403),
        (world.consultant, 200, 201),
    ]:
        client.logout()
        if person:
            client.force_login(person)
        assert client.get(every).status_code == read
        assert client.get(one).status_code == read
        assert client.post(every, calls()).status_code == written
        assert client.delete(one).status_code in (403, 405)


def test_a_file_is_found_under_its_own_engagement_alone(signed_in: Client, world: World) -> None:
    row = kept.add(world.scoping(), world.consultant, "calls.csv", kept.TRAFFIC)
    other = world.scoping(customer=world.other_customer)
    address = reverse("api-one-evidence", args=[other.reference, row.pk])
    assert signed_in.get(address).status_code == 404
