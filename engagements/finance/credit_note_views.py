"""Credit note pages: draft, and issue as a second person."""

from __future__ import annotations

from decimal import Decimal

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.billing import credit_note_drafts, credit_notes
from engagements.billing.balances import balance_of
from engagements.billing.forms import CreditForm
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.page_access import finance_page
from engagements.people import reauthentication


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def credit(request: HttpRequest, pk: int) -> HttpResponse:
    """Credit an invoice: preview, then issue the credit note, or draft it above the limit."""
    invoice = access.invoice_for(request.user, pk)
    form = CreditForm(request.POST or None, currency=invoice.currency)
    parts: list[credit_notes.Credit] = []
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            if "issue" in request.POST:
                note = credit_note_drafts.draft(
                    invoice=invoice,
                    reason=data["reason"],
                    net=data["net"],
                    expected_credited=data["expected_credited"],
                    bill_again=data["bill_again"],
                    by=actor(request),
                )
                if not note.is_issued:
                    return redirect("invoice", pk=note.pk)
                messages.success(request, f"{note.reference} issued.")
                return redirect("invoice", pk=invoice.pk)
            parts = credit_notes.preview_credit(invoice=invoice, net=data["net"])
        except ApplicationError as error:
            form.add_error(None, str(error))
    credited = credit_notes.credited_net(invoice)
    gross = sum((part.net + part.tax for part in parts), Decimal(0))
    context = {
        "invoice": balance_of(invoice),
        "engagement": invoice.engagement,
        "creditable": invoice.net - credited,
        "credited": credited,
        "parts": parts,
        "net": sum((part.net for part in parts), Decimal(0)),
        "tax": sum((part.tax for part in parts), Decimal(0)),
        "gross": gross,
        "may_credit_alone": credit_note_drafts.may_credit_alone(invoice, gross),
        "form": form,
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/credit.html", context, status=status)


@finance_page
@require_POST
@reauthentication.with_reauthentication
def issue(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue a draft credit note, as a second person."""
    note = access.invoice_for(request.user, pk)
    try:
        issued = credit_note_drafts.issue(note=note, by=actor(request))
        messages.success(request, f"{issued.reference} issued. Its PDF is being rendered.")
    except ApplicationError as error:
        messages.error(request, str(error))
    return redirect("invoice", pk=pk)
