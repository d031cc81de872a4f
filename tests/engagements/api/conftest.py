"""What tests of the API share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def forget_rate_limits(empty_rate_limits: None) -> None:
    """Start every test with no request counted."""
