"""Payments, found by what a bank statement or an auditor names."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from engagements.billing.payment_models import Payment
from engagements.contracts.models import ContractVersion


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


def recent_payments(limit: int = 10) -> list[Payment]:
    """The payments recorded last, newest first."""
    return list(
        Payment.objects.select_related(
            "recorded_by",
            "invoice__engagement__customer",
            "moved_from__invoice",
            "moved_to__invoice",
        ).order_by("-recorded_at", "-pk")[:limit]
    )


def payments_of(contract: ContractVersion) -> list[Payment]:
    """Every payment received in a contract's engagement, in the order of their days."""
    return list(
        Payment.objects.filter(invoice__engagement=contract.engagement_id)
        .select_related("invoice", "recorded_by", "moved_from__invoice", "moved_to__invoice")
        .order_by("received_on", "pk")
    )
