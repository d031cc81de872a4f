"""Parse whole numbers that no form validates: ticked rows, positions."""

from __future__ import annotations

from collections.abc import Iterable

# A bigint has at most 19 digits.
MOST_DIGITS = 18


def whole(text: str) -> int | None:
    """Parse a non-negative integer of at most 18 digits; None for anything else."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def wholes(texts: Iterable[str]) -> list[int]:
    """Parse those of `texts` that are numbers."""
    return [number for text in texts if (number := whole(text)) is not None]
