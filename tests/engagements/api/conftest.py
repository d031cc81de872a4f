"""What tests of the API stand on."""

from __future__ import annotations

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def nothing_asked() -> None:
    """Nobody has asked for anything yet: no test is refused because of the one before."""
    cache.clear()
