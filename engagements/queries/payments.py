"""Payments, found by what a bank statement or an auditor names."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from engagements.models import Payment


def found_payments(
    *,
    text: str = "",
    kind: str = "",
    since: dt.date | None = None,
    until: dt.date | None = None,
) -> QuerySet[Payment]:
    """Payments, the newest day first: all, or narrowed to a `Payment.Kind`, to days (both
    included), to a text.

    The text is looked for in references, numbers of invoices, references of engagements and
    names of customers.
    """
    found = Payment.objects.select_related(
        "recorded_by",
        "invoice__engagement",
        "invoice__customer",
        "moved_from__invoice",
        "moved_to__invoice",
    )
    if kind:
        found = found.filter(kind=kind)
    if since is not None:
        found = found.filter(received_on__gte=since)
    if until is not None:
        found = found.filter(received_on__lte=until)
    if text:
        found = found.filter(
            Q(reference__icontains=text)
            | Q(invoice__reference__icontains=text)
            | Q(invoice__engagement__reference__icontains=text)
            | Q(invoice__customer__name__icontains=text)
        )
    return found.order_by("-received_on", "-pk")


def totals_of(payments: QuerySet[Payment]) -> list[tuple[str, Decimal]]:
    """What these payments come to, one a currency, by code."""
    totals = payments.order_by().values_list("invoice__currency").annotate(total=Sum("amount"))
    return sorted(totals)
