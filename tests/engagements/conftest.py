"""Fixtures for tests of engagements."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils import timezone
from pypdf import PdfReader

from engagements import documents, tasks
from engagements.audit.models import Audit
from engagements.common import queue
from tests.engagements import cached_world, document_story, evidence_world
from tests.engagements.accessibility import errors_of
from tests.engagements.cached_stories import running_test
from tests.engagements.document_story import Story
from tests.engagements.world import World


@pytest.fixture
def world(
    db: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """The consultancy, its customer and a stranger."""
    with cached_world.new_world(request.fixturenames, monkeypatch) as world:
        yield world


@pytest.fixture
def on_day(monkeypatch: pytest.MonkeyPatch) -> Callable[[dt.date], None]:
    """Set the application's clock to noon (UTC) of another day."""

    def travel(day: dt.date) -> None:
        noon = dt.datetime.combine(day, dt.time(12), tzinfo=dt.UTC)
        monkeypatch.setattr(timezone, "now", lambda: noon)

    return travel


@pytest.fixture
def documents_wanted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The documents that services enqueue, as (kind, subject), instead of having them issued."""
    wanted: list[tuple[str, str]] = []

    def send(task: str, *args: object) -> bool:
        if task == "issue_document":
            kind, subject = args
            wanted.append((str(kind), str(subject)))
        return True

    monkeypatch.setattr(queue, "send", send)
    return wanted


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The sweep, without rendering documents."""
    monkeypatch.setattr(documents, "missing", list)
    return tasks.sweep


@pytest.fixture(autouse=True)
def story_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore stories from the cache where possible."""
    with running_test(request.fixturenames, monkeypatch):
        yield


@pytest.fixture
def empty_rate_limits() -> None:
    """Forget every rate limit and sign-in attempt."""
    for cache in caches.all(initialized_only=False):
        cache.clear()


@pytest.fixture
def signed_in(client: Client, world: World) -> Client:
    """A browser session of the consultant."""
    client.force_login(world.consultant)
    return client


@pytest.fixture
def audit(world: World) -> Audit:
    """An audit in progress, with the trace of a decode step and a log of shapes."""
    audit = world.auditing()
    evidence_world.added(audit.engagement, world.consultant, evidence_world.DECODE)
    evidence_world.added(audit.engagement, world.consultant, "calls.csv", evidence_world.TRAFFIC)
    return audit


@pytest.fixture
def story(db: None, settings: object, tmp_path: Path) -> Story:
    """An engagement that has just been opened."""
    return document_story.opened()


# The kinds of documents that this process has validated.
_validated: set[str] = set()


@pytest.fixture
def issued(tmp_path: Path) -> Callable[[str, str], PdfReader]:
    """Issue a document and read it; the bytes also lie in the test's folder.

    The first one of each kind has to conform to PDF/UA-1.
    """

    def issue(kind: str, subject: str) -> PdfReader:
        document = documents.issue(kind=kind, subject=subject)
        content = bytes(document.content)
        if kind not in _validated:
            assert errors_of(content) == []
            _validated.add(kind)
        (tmp_path / document.filename).write_bytes(content)
        return PdfReader(io.BytesIO(content))

    return issue
