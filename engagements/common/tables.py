"""Download tables as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

from django.http import HttpResponse

from engagements.common.money import quantize

Cell: TypeAlias = str | int | Decimal | date | None
# A spreadsheet evaluates text that begins with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(name: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> HttpResponse:
    """Return a download `name`.csv in UTF-8: amounts as plain decimals, dates as 2026-03-31."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer: Any = csv.writer(response)
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    return response


def amounts(currency: str, *values: Decimal | None) -> Iterator[Decimal | None]:
    """Quantize amounts to the currency's minor unit."""
    return (None if value is None else quantize(value, currency) for value in values)


def cell(value: Cell) -> str:
    """Format a value for CSV; text that looks like a formula is escaped."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date):
        return value.isoformat()
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text
