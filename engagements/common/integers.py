"""Whole numbers where no form reads them: rows that were ticked, places in a list."""

from __future__ import annotations

from collections.abc import Iterable

# Every key of a row has fewer, and so has every number that the database compares one with.
MOST_DIGITS = 18


def whole(text: str) -> int | None:
    """The number that `text` is, written in digits; None where it is none, or beyond any key."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def wholes(texts: Iterable[str]) -> list[int]:
    """Those of `texts` that are numbers."""
    return [number for text in texts if (number := whole(text)) is not None]
