"""The governing texts: read by the house, published by admins."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.models import Clause
from engagements.services import clauses
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
NEXT = {"slug": "law", "title": "Law", "text": "Another law."}


def test_an_admin_publishes_the_next_number_and_the_earlier_stays(
    client: Client, world: World
) -> None:
    client.force_login(world.admin)
    before = next(clause for clause in clauses.newest() if clause.slug == "law")
    assert before.text.splitlines()[0] in client.get(
        reverse("clauses"), {"from": "law"}
    ).content.decode().replace("&#x27;", "'")
    assert client.post(reverse("clauses"), NEXT).status_code == 302
    page = client.get(reverse("clauses")).content.decode()
    assert "Another law." in page
    assert "Earlier numbers" in page
    assert Clause.objects.filter(slug="law").count() == 2


def test_what_cannot_be_published_is_said(client: Client, world: World) -> None:
    client.force_login(world.admin)
    for missing in NEXT:
        answer = client.post(reverse("clauses"), NEXT | {missing: " "})
        assert answer.status_code == 422
        assert "This field is required" in answer.content.decode()


def test_who_reads_and_who_publishes(client: Client, world: World) -> None:
    for person in (world.signatory, world.stranger, world.nobody):
        client.force_login(person)
        assert client.get(reverse("clauses")).status_code == 404
        assert client.post(reverse("clauses"), NEXT).status_code == 404
    for person in (world.consultant, world.finance):
        client.force_login(person)
        page = client.get(reverse("clauses"))
        assert page.status_code == 200
        assert 'method="post"' not in page.content.decode().partition("<main")[2]
        assert client.post(reverse("clauses"), NEXT).status_code == 403
    assert not Clause.objects.filter(text="Another law.").exists()
