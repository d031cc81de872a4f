"""A story that is put back cannot be told from one that the services tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from engagements.contracts import services as contracts
from engagements.settlements import services as settlements
from tests.engagements import kept
from tests.engagements.kept import KeptWorld
from tests.engagements.world import days, undone

pytestmark = pytest.mark.django_db
# What the services ask the database at least for a contract in force; to put it back is one.
TOLD = 100


@pytest.fixture(autouse=True)
def empty_shelf() -> Iterator[None]:
    """Nothing is kept yet, and what the other tests kept stays."""
    before = kept._shelves[:]
    kept._shelves.clear()
    yield
    kept._shelves[:] = before


@contextmanager
def made(patches: pytest.MonkeyPatch) -> Iterator[KeptWorld]:
    """A world as a test of its own would have it."""
    with undone(), KeptWorld(patches).watched() as world:
        yield world


def questions(world: KeptWorld) -> int:
    """What it takes to bring a contract in force."""
    with CaptureQueriesContext(connection) as asked:
        world.active()
    return len(asked)


def test_the_rows_are_those_that_the_services_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    with made(monkeypatch) as world:
        told, rows = world.settlement(), kept._rows()
    with made(monkeypatch) as world:
        with CaptureQueriesContext(connection) as asked:
            again = world.settlement()
        assert len(asked) == 1
        assert kept._rows() == rows
        assert again == told
        assert again is not told


@pytest.mark.soak
def test_it_goes_on_with_what_was_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with made(monkeypatch) as world:
        world.settlement()
    with made(monkeypatch) as world:
        row = settlements.approve(settlement=world.settlement(), by=world.controller)
        assert row.approved_by == world.controller
        connection.check_constraints()


@pytest.mark.soak
def test_one_test_does_not_see_what_another_made_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        with made(monkeypatch) as world:
            contract = world.active()
            assert (world.customer.name, contract.fee) == ("Longprompt AG", 48000)
            assert contract.engagement.title == "Shared prompt"
            world.customer.name = contract.engagement.title = "Changed"
            world.customer.save()
            contract.fee = 1


@pytest.mark.soak
def test_what_was_written_before_is_part_of_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    with made(monkeypatch) as world:
        world.active()
    with made(monkeypatch) as world:
        assert questions(world) == 1
    with made(monkeypatch) as world:
        world.also_signs("Sam")
        assert questions(world) > TOLD
    with made(monkeypatch) as world:
        world.customer.currency = "USD"
        assert questions(world) > TOLD


@pytest.mark.soak
def test_whoever_changes_a_setting_a_service_or_the_day_is_told_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with made(monkeypatch) as world:
        world.active()
    with made(monkeypatch) as world, override_settings(USE_THOUSAND_SEPARATOR=True):
        assert questions(world) > TOLD
    with made(monkeypatch) as world, monkeypatch.context() as patched:
        world._patches = patched
        patched.setattr(contracts, "draft", contracts.draft)
        assert questions(world) > TOLD
    with made(monkeypatch) as world:
        tomorrow = timezone.now() + days(1)
        with monkeypatch.context() as patched:
            patched.setattr(timezone, "now", lambda: tomorrow)
            assert questions(world) > TOLD
