"""TODO docstring."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import QuerySet, Sum

from engagements.billing.balances import (
    open_invoices,
)
from engagements.payouts.queries import overpaid_invoices

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


@dataclass(frozen=True)
class Totals:
    """What is `open` and what is `overpaid` of some invoices in one currency; never netted."""

    currency: str
    open: Decimal
    overpaid: Decimal


def totals_by_currency(rows: QuerySet[InvoiceWithBalance]) -> list[Totals]:
    """What is open and what is overpaid of these invoices, gross, by currency.

    What a settlement counts is neither: it leaves nothing to ask for, and goes back with that.
    """
    found, nothing = rows.order_by().values("pk"), Decimal(0)
    waiting = _sums(open_invoices().filter(pk__in=found), "amount_due")
    over = _sums(overpaid_invoices().filter(pk__in=found), "open_amount")
    return [
        Totals(currency, waiting.get(currency, nothing), -over.get(currency, nothing))
        for currency in sorted({*waiting, *over})
    ]


def _sums(rows: QuerySet[InvoiceWithBalance], amount: str) -> dict[str, Decimal]:
    totals = rows.order_by().values("currency").annotate(total=Sum(amount))
    return dict(totals.values_list("currency", "total"))
