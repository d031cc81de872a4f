"""Format dates for pages, documents and the event log."""

from __future__ import annotations

from datetime import UTC, date, datetime

from babel.dates import format_date

LOCALE = "en_GB"


def in_words(day: date, *, locale: str = LOCALE) -> str:
    """Format a date as 5 October 2026, or as `locale` does. A datetime is taken in UTC."""
    if isinstance(day, datetime):
        day = day.astimezone(UTC).date()
    return str(format_date(day, "long", locale=locale))
