"""The governing clauses: read by staff, published by admins."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.models import Clause
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
NEXT = {"slug": "law", "title": "Law", "text": "Another law.", "after": "1"}


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
    assert 'id="law-1"' in page
    assert Clause.objects.filter(slug="law").count() == 2


def test_what_would_change_is_shown_before_it_is_published(client: Client, world: World) -> None:
    client.force_login(world.admin)
    clauses.newest()
    page = client.post(reverse("clauses"), NEXT | {"do": "preview"}).content.decode()
    assert "<ins>Another law.</ins>" in page
    assert not Clause.objects.filter(text="Another law.").exists()
    new = {"slug": "audits", "title": "Audits", "text": "One.\r\n\r\nTwo.", "after": "0"}
    page = client.post(reverse("clauses"), new | {"do": "preview"}).content.decode()
    assert "<p>One.</p>" in page
    assert "<p>Two.</p>" in page


def test_a_concurrent_publication_must_be_reviewed_first(client: Client, world: World) -> None:
    client.force_login(world.admin)
    clauses.newest()
    client.post(reverse("clauses"), NEXT)
    answer = client.post(reverse("clauses"), NEXT | {"text": "A third law."})
    assert answer.status_code == 422
    assert not Clause.objects.filter(text="A third law.").exists()


def test_the_same_text_sent_twice_is_one_number(client: Client, world: World) -> None:
    client.force_login(world.admin)
    clauses.newest()
    client.post(reverse("clauses"), NEXT)
    assert client.post(reverse("clauses"), NEXT | {"after": "2"}).status_code == 302
    assert Clause.objects.filter(slug="law").count() == 2


def test_each_number_lists_its_changes_and_its_contracts(client: Client, world: World) -> None:
    world.active()
    client.force_login(world.admin)
    client.post(reverse("clauses"), NEXT)
    page = client.get(reverse("clauses")).content.decode()
    assert page.count('data-engagements="1"') == len(clauses.newest())
    assert page.count('data-engagements="0"') == 1
    assert "<ins>Another law.</ins>" in page


def test_invalid_clauses_are_not_published(client: Client, world: World) -> None:
    client.force_login(world.admin)
    for missing in ("slug", "title", "text"):
        answer = client.post(reverse("clauses"), NEXT | {missing: " "})
        assert answer.status_code == 422


def test_staff_read_and_admins_publish(client: Client, world: World) -> None:
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
