"""TODO docstring."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from engagements.common import money
from engagements.documents import formatting


def in_words(value: dict[str, Any]) -> Iterator[str]:
    """An answer in words: a line an entry, or a line a figure that was given."""
    if amount := value.get("amount_a_month"):
        shown = money.format_money(Decimal(str(amount)), str(value["currency"]))
        yield f"Amount a month: {shown}"
        value = {k: given for k, given in value.items() if k not in ("amount_a_month", "currency")}
    for name, given in value.items():
        if isinstance(given, list):
            yield from (_entry_in_words(entry) for entry in given)
            if not given:
                yield "None"
        elif given is not None:
            yield f"{name.replace('_', ' ').capitalize()}: {given}"


def _entry_in_words(entry: dict[str, Any]) -> str:
    words = [str(entry["name"])]
    if hours := entry.get("hours_a_month"):
        words.append(f"{hours:g} hours a month")
    days = [str(entry[name]) for name in ("expected_on", "planned_on") if entry.get(name)]
    words += [formatting.day(date.fromisoformat(each)) for each in days]
    words += [f"{axis} {size}" for axis, size in sorted((entry.get("axes") or {}).items())]
    return ", ".join(words)
