"""Payment pages: record a payment, search payments."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import payments
from engagements.billing.balances import balance_of
from engagements.billing.forms import PaymentFilterForm, PaymentForm
from engagements.billing.payment_models import Payment
from engagements.billing.payments import found_payments, totals_of
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE, errors_shown, query_of
from engagements.common.tables import amounts, as_csv
from engagements.page_access import finance_page
from engagements.payouts.queries import payments_for
from engagements.people import reauthentication, second_person

PER_PAGE = 50
COLUMNS = (
    *("Date", "Kind", "Invoice", "Customer", "Engagement", "Reference", "Currency", "Amount"),
    *("Recorded by", "Recorded on"),
)


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def record(request: HttpRequest, pk: int) -> HttpResponse:
    """Record a payment for an invoice."""
    invoice = balance_of(access.invoice_for(request.user, pk))
    form = PaymentForm(
        request.POST or None, currency=invoice.currency, max_payment=invoice.max_payment
    )
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            payment = payments.record(invoice=invoice, by=actor(request), **form.cleaned_data)
            shown = format_money(payment.amount, invoice.currency)
            messages.success(request, f"{shown} recorded for {invoice.reference}.")
            return redirect("invoice", pk=invoice.pk)
    # The template reads two more attributes of each row.
    rows: list[Any] = list(payments_for(invoice))
    for row in rows:
        row.needs_another = second_person.is_missing(
            by=actor(request), others=[row.recorded_by_id], subject=row.subject
        )
        row.reversal = row.reversals.exclude(state="voided").first()
    context = {
        "invoice": invoice,
        "engagement": invoice.engagement,
        "payments": rows,
        "form": form,
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/payment.html", context, status=status)


@finance_page
@require_POST
@reauthentication.with_reauthentication
def confirm(request: HttpRequest, pk: int) -> HttpResponse:
    """Confirm a payment keyed by hand, as a second person."""
    payment = access.payment_for(request.user, pk)
    try:
        payments.confirm(payment=payment, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Payment confirmed.")
    return redirect("payment-record", pk=payment.invoice_id)


@finance_page
@require_safe
def payment_list(request: HttpRequest) -> HttpResponse:
    """Payments: `q` searches, `kind`, `since` and `until` filter, `format=csv` downloads."""
    form = PaymentFilterForm(request.GET)
    # Invalid fields do not filter; the form shows their errors.
    found = found_payments(**form.filters())
    if request.GET.get("format") == "csv":
        return as_csv("payments", COLUMNS, (_cells(row) for row in found.iterator()))
    context = {
        "listed": Paginator(found, PER_PAGE).get_page(request.GET.get("page")),
        "totals": totals_of(found),
        "form": form,
        "is_filtered": any(form.filters().values()),
        "query": query_of(request),
    }
    return render(request, "billing/payments.html", context)


def _cells(row: Payment) -> tuple[Any, ...]:
    invoice = row.invoice
    return (
        *(row.received_on, row.description, invoice.reference, invoice.customer.name),
        *(invoice.engagement.reference, row.reference, invoice.currency),
        *amounts(invoice.currency, row.amount),
        *(str(row.recorded_by), row.recorded_at.date()),
    )
