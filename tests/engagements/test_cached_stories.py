"""Restored stories equal those that the services create."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.files.storage import storages
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks import storage
from benchmarks.models import Record
from engagements.contracts import services as contracts
from engagements.settlements import services as settlements
from tests.engagements import cached_stories, cached_world, story
from tests.engagements.world import days, undone

# Each attempt needs its own transaction: a rollback stays visible within one.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start with an empty cache and restore it afterwards."""
    before = dict(cached_stories._cache)
    cached_stories._cache.clear()
    with cached_stories.running_test([], monkeypatch):
        yield
    cached_stories._cache.clear()
    cached_stories._cache.update(before)


def is_restored() -> bool:
    """Whether the story of an active contract is restored, not created again."""
    people: list[int] = []
    for _ in range(2):
        with undone():
            people.append(story.in_force().customer.pk)
    return people[0] == people[1]


def test_restored_rows_equal_the_written_ones_and_services_continue() -> None:
    with undone():
        first, rows = story.missed(), cached_world._rows()
    with undone():
        again = story.missed()
        assert cached_world._rows() == rows
        assert again == first
        assert again is not first
        assert again.scenario is first.scenario
        assert settlements.approve(settlement=again.settlement, by=again.second).approved_by
        connection.check_constraints()


@pytest.mark.soak
def test_a_changed_or_removed_file_is_written_again() -> None:
    place = storages["records"]
    with undone():
        story.met()
        content = storage.load(Record.objects.get())
    for changed in (b"changed", None):
        with undone():
            story.met()
            row = Record.objects.get()
            assert storage.load(row) == content
            place.delete(str(row.file.name))
            if changed:
                with place.open(str(row.file.name), "wb") as opened:
                    opened.write(changed)
    with undone():
        story.met()
        assert storage.load(Record.objects.get()) == content


@pytest.mark.soak
def test_changes_of_one_test_are_invisible_to_the_next() -> None:
    for _ in range(3):
        with undone():
            customer = story.in_force().customer
            assert customer.name == "Longprompt GmbH"
            customer.name = "Changed"
            customer.save()


@pytest.mark.soak
def test_earlier_writes_and_patches_prevent_restoring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert is_restored()
    with undone():
        restored = story.in_force().customer.pk
    with undone():
        story.company("Somebody else")
        assert story.in_force().customer.pk != restored
    with undone(), CaptureQueriesContext(connection):
        assert story.in_force().customer.pk != restored
    tomorrow = timezone.now() + days(1)
    for where, name, value in (
        (contracts, "draft", contracts.draft),
        (timezone, "now", lambda: tomorrow),
    ):
        with undone(), monkeypatch.context() as patched:
            patched.setattr(where, name, value)
            with cached_stories.running_test([], patched):
                assert story.in_force().customer.pk != restored
    with undone():
        assert story.in_force().customer.pk == restored
