"""Format answers of the questionnaire as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from engagements.common import money
from engagements.documents import formatting


def answer_lines(value: dict[str, Any]) -> Iterator[str]:
    """Format an answer: a line an item, or a line a figure."""
    if amount := value.get("amount_a_month"):
        shown = money.format_money(Decimal(str(amount)), str(value["currency"]))
        yield f"Amount a month: {shown}"
        value = {k: each for k, each in value.items() if k not in ("amount_a_month", "currency")}
    for name, answer in value.items():
        if isinstance(answer, list):
            yield from (_item_line(item) for item in answer)
            if not answer:
                yield "None"
        elif answer is not None:
            yield f"{name.replace('_', ' ').capitalize()}: {answer}"


def _item_line(item: dict[str, Any]) -> str:
    words = [str(item["name"])]
    if hours := item.get("hours_a_month"):
        words.append(f"{hours:g} hours a month")
    days = [str(item[name]) for name in ("expected_on", "planned_on") if item.get(name)]
    words += [formatting.day(date.fromisoformat(each)) for each in days]
    words += [f"{axis} {size}" for axis, size in sorted((item.get("axes") or {}).items())]
    return ", ".join(words)
