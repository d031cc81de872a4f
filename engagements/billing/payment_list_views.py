"""Every payment: what came in, was moved, and went back."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.billing.forms import PaymentFilterForm
from engagements.billing.payment_models import Payment
from engagements.billing.payment_queries import found_payments, totals_of
from engagements.common.pages import query_of
from engagements.common.tables import amounts, as_csv

PER_PAGE = 50
COLUMNS = (
    *("Day", "What", "Invoice", "Customer", "Engagement", "Reference", "Currency", "Amount"),
    *("Recorded by", "Recorded on"),
)


@access.finance_page
@require_safe
def payment_list(request: HttpRequest) -> HttpResponse:
    """`q` finds, `kind`, `since` and `until` narrow, `format=csv` downloads what is found."""
    form = PaymentFilterForm(request.GET)
    # What cannot be read narrows nothing, and the form says so.
    found = found_payments(**form.said())
    if request.GET.get("format") == "csv":
        return as_csv("payments", COLUMNS, (_cells(row) for row in found.iterator()))
    context = {
        "listed": Paginator(found, PER_PAGE).get_page(request.GET.get("page")),
        "totals": totals_of(found),
        "form": form,
        "is_narrowed": any(form.said().values()),
        "query": query_of(request),
    }
    return render(request, "billing/payments.html", context)


def _cells(row: Payment) -> tuple[Any, ...]:
    invoice = row.invoice
    return (
        *(row.received_on, row.told, invoice.reference, invoice.customer.name),
        *(invoice.engagement.reference, row.reference, invoice.currency),
        *amounts(invoice.currency, row.amount),
        *(str(row.recorded_by), row.recorded_at.date()),
    )
