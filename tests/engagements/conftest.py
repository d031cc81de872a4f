"""What tests of engagements stand on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone

from engagements import documents, tasks
from tests.engagements import kept
from tests.engagements.world import World


@pytest.fixture
def world(
    db: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """The consultancy, its customer and a stranger."""
    if not kept.usable(request.fixturenames, monkeypatch):
        yield World()
        return
    with kept.KeptWorld(monkeypatch).watched() as world:
        yield world


@pytest.fixture
def on_day(monkeypatch: pytest.MonkeyPatch) -> Callable[[dt.date], None]:
    """Let the application believe that it is noon (UTC) of another day."""

    def travel(day: dt.date) -> None:
        noon = dt.datetime.combine(day, dt.time(12), tzinfo=dt.UTC)
        monkeypatch.setattr(timezone, "now", lambda: noon)

    return travel


@pytest.fixture
def documents_wanted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The documents that services ask for, as (kind, subject), instead of having them issued."""
    wanted: list[tuple[str, str]] = []
    monkeypatch.setattr(
        tasks.issue_document, "delay", lambda kind, subject: wanted.append((kind, subject))
    )
    return wanted


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The sweep, without the documents that it would typeset."""
    monkeypatch.setattr(documents, "missing", list)
    return tasks.sweep
