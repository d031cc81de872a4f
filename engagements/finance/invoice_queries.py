"""Search issued invoices and credit notes, and total them by currency."""

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

import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import Q

from engagements.billing.balances import (
    issued_invoices,
    overdue_invoices,
    with_balance,
)
from engagements.billing.models import Invoice
from engagements.people.models import Customer

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


class InvoiceStatus(StrEnum):
    """Filters of the invoice list; the values appear in the query string."""

    OPEN = "open"
    OVERDUE = "overdue"
    PAID = "paid"
    OVERPAID = "overpaid"
    CREDIT_NOTES = "credit-notes"


def found_invoices(
    *, today: datetime.date, text: str = "", status: str = "", customer: Customer | None = None
) -> QuerySet[InvoiceWithBalance]:
    """Search issued invoices, newest first, by `InvoiceStatus`, customer and text.

    The text is searched in invoice and engagement references and customer names. Credit notes
    are listed only by their own status.
    """
    if status == InvoiceStatus.CREDIT_NOTES:
        notes = Invoice.objects.filter(
            kind=Invoice.Kind.CREDIT_NOTE, state=Invoice.State.ISSUED
        ).select_related("customer", "engagement", "contract_version", "corrects")
        found = with_balance(notes)
    else:
        found = _with_status(status, today)
    if customer is not None:
        found = found.filter(customer=customer)
    if text:
        found = found.filter(
            Q(reference__icontains=text)
            | Q(engagement__reference__icontains=text)
            | Q(customer__name__icontains=text)
        )
    return found.order_by("-issued_on", "-pk")


def _with_status(status: str, today: datetime.date) -> QuerySet[InvoiceWithBalance]:
    if status == InvoiceStatus.OPEN:
        return open_invoices()
    if status == InvoiceStatus.OVERDUE:
        return overdue_invoices(today=today)
    if status == InvoiceStatus.PAID:
        return issued_invoices().filter(open_amount__lte=Decimal(0))
    if status == InvoiceStatus.OVERPAID:
        return overpaid_invoices()
    return issued_invoices()


@dataclass(frozen=True)
class Totals:
    """Gross open and overpaid amounts in one currency, not netted."""

    currency: str
    open: Decimal
    overpaid: Decimal


def totals_by_currency(rows: QuerySet[InvoiceWithBalance]) -> list[Totals]:
    """Total these invoices by currency. Amounts covered by a settlement count as neither."""
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
