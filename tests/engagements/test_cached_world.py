"""Restored stages equal those that the services create."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from engagements.contracts import services as contracts
from engagements.settlements import services as settlements
from tests.engagements import cached_world
from tests.engagements.cached_world import CachedWorld
from tests.engagements.world import days, undone

pytestmark = pytest.mark.django_db
# At least so many queries create an active contract; one query restores it.
CREATED = 100


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """Start with an empty cache and restore it afterwards."""
    before = cached_world._caches[:]
    cached_world._caches.clear()
    yield
    cached_world._caches[:] = before


@contextmanager
def new_world(patches: pytest.MonkeyPatch) -> Iterator[CachedWorld]:
    """A world as a separate test would have it."""
    with undone(), CachedWorld(patches).watched() as world:
        yield world


def query_count(world: CachedWorld) -> int:
    """Number of queries for an active contract."""
    with CaptureQueriesContext(connection) as queries:
        world.active()
    return len(queries)


def test_restored_rows_equal_the_written_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_world(monkeypatch) as world:
        result, rows = world.settlement(), cached_world._rows()
    with new_world(monkeypatch) as world:
        with CaptureQueriesContext(connection) as queries:
            again = world.settlement()
        assert len(queries) == 1
        assert cached_world._rows() == rows
        assert again == result
        assert again is not result


@pytest.mark.soak
def test_services_continue_from_restored_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_world(monkeypatch) as world:
        world.settlement()
    with new_world(monkeypatch) as world:
        row = settlements.approve(settlement=world.settlement(), by=world.controller)
        assert row.approved_by == world.controller
        connection.check_constraints()


@pytest.mark.soak
def test_changes_of_one_test_are_invisible_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        with new_world(monkeypatch) as world:
            contract = world.active()
            assert (world.customer.name, contract.fee) == ("Longprompt AG", 48000)
            assert contract.engagement.title == "Shared prompt"
            world.customer.name = contract.engagement.title = "Changed"
            world.customer.save()
            contract.fee = 1


@pytest.mark.soak
def test_earlier_writes_prevent_restoring(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_world(monkeypatch) as world:
        world.active()
    with new_world(monkeypatch) as world:
        assert query_count(world) == 1
    with new_world(monkeypatch) as world:
        world.also_signs("Sam")
        assert query_count(world) > CREATED
    with new_world(monkeypatch) as world:
        world.customer.currency = "USD"
        assert query_count(world) > CREATED


@pytest.mark.soak
def test_a_changed_setting_service_or_date_prevents_restoring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with new_world(monkeypatch) as world:
        world.active()
    with new_world(monkeypatch) as world, override_settings(USE_THOUSAND_SEPARATOR=True):
        assert query_count(world) > CREATED
    with new_world(monkeypatch) as world, monkeypatch.context() as patched:
        world._patches = patched
        patched.setattr(contracts, "draft", contracts.draft)
        assert query_count(world) > CREATED
    with new_world(monkeypatch) as world:
        tomorrow = timezone.now() + days(1)
        with monkeypatch.context() as patched:
            patched.setattr(timezone, "now", lambda: tomorrow)
            assert query_count(world) > CREATED
