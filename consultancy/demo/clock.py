"""A clock set back, so that a portfolio has a past."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import Any
from unittest.mock import patch

from django.utils import timezone


@contextmanager
def days_ago(days: int) -> Iterator[None]:
    """Let services of this process read the time `days` before now."""
    earlier = timedelta(days=days)

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) - earlier

    # Patched here, `timezone.now` is late wherever it was imported, as in a model's defaults.
    with patch.object(timezone, "datetime", Earlier):
        yield
