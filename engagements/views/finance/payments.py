"""Recording money that arrived, by hand."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.errors import Refused
from engagements.forms.billing import PaymentForm
from engagements.money import format_money
from engagements.queries.balances import balance_of
from engagements.queries.overpayments import payments_for
from engagements.services import payments
from engagements.views.answers import UNPROCESSABLE, actor


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def record(request: HttpRequest, pk: int) -> HttpResponse:
    """Record money that arrived for an invoice."""
    invoice = balance_of(access.invoice_for(request.user, pk))
    form = PaymentForm(request.POST or None, currency=invoice.currency, open_amount=invoice.takes)
    if request.method == "POST" and form.is_valid():
        try:
            payment = payments.record(invoice=invoice, by=actor(request), **form.cleaned_data)
        except Refused as refusal:
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
    return render(request, "finance/payment.html", context, status=status)
