"""What tests of the API stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from tests.engagements.kept_stories import told_to


@pytest.fixture(autouse=True)
def nothing_asked() -> None:
    """Nobody has asked for anything yet: no test is refused because of the one before."""
    cache.clear()


@pytest.fixture(autouse=True)
def told_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stories are put back as rows wherever that makes no difference."""
    with told_to(request.fixturenames, monkeypatch):
        yield
