"""Days in words, for sentences in pages and the event log; documents have their `wording`."""

from __future__ import annotations

from datetime import date


def in_words(day: date) -> str:
    """5 October 2026."""
    return f"{day.day} {day:%B %Y}"
