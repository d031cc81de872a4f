"""What views share between requests."""

from __future__ import annotations

import pytest
from django.core.cache import caches


@pytest.fixture
def nothing_asked() -> None:
    """No address has asked for anything yet: nothing is counted against it."""
    for cache in caches.all(initialized_only=False):
        cache.clear()
