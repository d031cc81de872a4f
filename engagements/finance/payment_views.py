"""Recording money that arrived, by hand."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.billing import payments
from engagements.billing.balances import balance_of
from engagements.billing.forms import PaymentForm
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE
from engagements.payouts.queries import payments_for


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def record(request: HttpRequest, pk: int) -> HttpResponse:
    """Record money that arrived for an invoice."""
    invoice = balance_of(access.invoice_for(request.user, pk))
    form = PaymentForm(
        request.POST or None, currency=invoice.currency, open_amount=invoice.max_payment
    )
    if request.method == "POST" and form.is_valid():
        try:
            payment = payments.record(invoice=invoice, by=actor(request), **form.cleaned_data)
        except ApplicationError as refusal:
            form.add_error(None, str(refusal))
        else:
            shown = format_money(payment.amount, invoice.currency)
            messages.success(request, f"{shown} is recorded for {invoice.reference}.")
            return redirect("invoice", pk=invoice.pk)
    context = {
        "invoice": invoice,
        "engagement": invoice.engagement,
        "payments": payments_for(invoice),
        "form": form,
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/payment.html", context, status=status)
