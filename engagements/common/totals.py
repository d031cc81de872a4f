"""Totals of money by currency, summed by the database."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet, Sum


def totals_by_currency(
    rows: QuerySet[Any], amount: str, *, currency: str = "currency"
) -> list[tuple[str, Decimal]]:
    """Sum the column `amount` of `rows` by currency, in order of the currencies' codes."""
    grouped = rows.order_by(currency).values_list(currency)
    return list(grouped.annotate(total=Sum(amount)))
