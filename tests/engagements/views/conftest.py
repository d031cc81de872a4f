"""What views share between requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import caches

from tests.engagements.kept_stories import told_to


@pytest.fixture(autouse=True)
def told_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stories are put back as rows wherever that makes no difference."""
    with told_to(request.fixturenames, monkeypatch):
        yield


@pytest.fixture
def nothing_asked() -> None:
    """No address has asked for anything yet: nothing is counted against it."""
    for cache in caches.all(initialized_only=False):
        cache.clear()
