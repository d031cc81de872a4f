"""A story of functions that is put back cannot be told from one that the services tell."""

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
from tests.engagements import kept, kept_stories
from tests.engagements import story as told
from tests.engagements.world import days, undone

# Each try is a transaction of its own: what was rolled back in one still shows in it.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is kept yet, and what the other tests kept stays."""
    before = dict(kept_stories._shelf)
    kept_stories._shelf.clear()
    with kept_stories.told_to([], monkeypatch):
        yield
    kept_stories._shelf.clear()
    kept_stories._shelf.update(before)


def kept_one() -> bool:
    """Whether the story of a contract in force is put back and not told."""
    people: list[int] = []
    for _ in range(2):
        with undone():
            people.append(told.in_force().customer.pk)
    return people[0] == people[1]


def test_the_rows_are_those_that_the_services_wrote_and_what_follows_goes_on() -> None:
    with undone():
        first, rows = told.missed(), kept._rows()
    with undone():
        again = told.missed()
        assert kept._rows() == rows
        assert again == first
        assert again is not first
        assert again.scenario is first.scenario
        assert settlements.approve(settlement=again.settlement, by=again.second).approved_by
        connection.check_constraints()


@pytest.mark.soak
def test_a_file_that_a_test_changed_or_removed_is_written_back() -> None:
    place = storages["records"]
    with undone():
        told.met()
        content = storage.load(Record.objects.get())
    for changed in (b"changed", None):
        with undone():
            told.met()
            row = Record.objects.get()
            assert storage.load(row) == content
            place.delete(str(row.file.name))
            if changed:
                with place.open(str(row.file.name), "wb") as opened:
                    opened.write(changed)
    with undone():
        told.met()
        assert storage.load(Record.objects.get()) == content


@pytest.mark.soak
def test_one_test_does_not_see_what_another_made_of_it() -> None:
    for _ in range(3):
        with undone():
            story = told.in_force()
            assert story.customer.name == "Longprompt GmbH"
            story.customer.name = "Changed"
            story.customer.save()


@pytest.mark.soak
def test_what_was_written_or_patched_before_is_part_of_the_story(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert kept_one()
    with undone():
        kept_before = told.in_force().customer.pk
    with undone():
        told.company("Somebody else")
        assert told.in_force().customer.pk != kept_before
    with undone(), CaptureQueriesContext(connection):
        assert told.in_force().customer.pk != kept_before
    tomorrow = timezone.now() + days(1)
    for where, name, value in (
        (contracts, "draft", contracts.draft),
        (timezone, "now", lambda: tomorrow),
    ):
        with undone(), monkeypatch.context() as patched:
            patched.setattr(where, name, value)
            with kept_stories.told_to([], patched):
                assert told.in_force().customer.pk != kept_before
    with undone():
        assert told.in_force().customer.pk == kept_before
