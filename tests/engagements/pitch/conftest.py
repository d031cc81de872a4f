"""Fixtures of tests of the pitch check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils.safestring import SafeString

from engagements.charts import responses


@pytest.fixture(autouse=True)
def charts_not_drawn() -> Iterator[None]:
    """Charts of pages are placeholders; the tests of charts draw them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(responses, "inline", lambda draw: SafeString('<svg class="chart"></svg>'))
        yield
