"""TODO docstring."""

from __future__ import annotations

import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet

from engagements.billing.balances import (
    issued_invoices,
    open_invoices,
    overdue_invoices,
    with_balance,
)
from engagements.billing.models import Invoice
from engagements.payouts.queries import overpaid_invoices
from engagements.people.models import Customer

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


class InvoiceStatus(StrEnum):
    """What a list of invoices can be narrowed to; the values stand in addresses."""

    OPEN = "open"
    OVERDUE = "overdue"
    PAID = "paid"
    OVERPAID = "overpaid"
    CREDIT_NOTES = "credit-notes"


def found_invoices(
    *, today: datetime.date, text: str = "", standing: str = "", customer: Customer | None = None
) -> QuerySet[InvoiceWithBalance]:
    """Issued invoices, the newest first: all, or narrowed to a `InvoiceStatus`, a customer, a text.

    The text is looked for in numbers, references of engagements and names of customers. Credit
    notes have a list of their own.
    """
    if standing == InvoiceStatus.CREDIT_NOTES:
        notes = Invoice.objects.filter(
            kind=Invoice.Kind.CREDIT_NOTE, state=Invoice.State.ISSUED
        ).select_related("customer", "engagement", "contract_version", "corrects")
        found = with_balance(notes)
    else:
        found = _standing(standing, today)
    if customer is not None:
        found = found.filter(customer=customer)
    if text:
        found = found.filter(
            Q(reference__icontains=text)
            | Q(engagement__reference__icontains=text)
            | Q(customer__name__icontains=text)
        )
    return found.order_by("-issued_on", "-pk")


def _standing(standing: str, today: datetime.date) -> QuerySet[InvoiceWithBalance]:
    if standing == InvoiceStatus.OPEN:
        return open_invoices()
    if standing == InvoiceStatus.OVERDUE:
        return overdue_invoices(today=today)
    if standing == InvoiceStatus.PAID:
        return issued_invoices().filter(open_amount__lte=Decimal(0))
    if standing == InvoiceStatus.OVERPAID:
        return overpaid_invoices()
    return issued_invoices()
