"""Write-off pages: propose, approve, void."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.billing import write_offs
from engagements.billing.balances import balance_of
from engagements.billing.write_off_forms import WriteOffForm
from engagements.billing.write_off_models import WriteOff
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.page_access import finance_page
from engagements.people import reauthentication


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: HttpRequest, pk: int) -> HttpResponse:
    """Write off a part of an invoice, or propose it above the limit."""
    invoice = access.invoice_for(request.user, pk)
    if not invoice.is_issued or invoice.is_credit_note:
        raise Http404("No such invoice.")
    balance = balance_of(invoice)
    form = WriteOffForm(request.POST or None, currency=invoice.currency, initial_amount=balance)
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            row = write_offs.propose(invoice=invoice, by=actor(request), **form.cleaned_data)
            done = "Written off." if row.state == WriteOff.State.POSTED else "Write-off proposed."
            messages.success(request, done)
            return redirect("invoice", pk=pk)
    context = {
        "invoice": balance,
        "engagement": invoice.engagement,
        "form": form,
        "limit": settings.WRITE_OFF_LIMIT,
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/write_off.html", context, status=status)


@finance_page
@require_POST
@reauthentication.with_reauthentication
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve a proposed write-off, as a second person."""
    row = _write_off(pk)
    try:
        write_offs.approve(write_off=row, by=actor(request))
        messages.success(request, "Written off.")
    except ApplicationError as error:
        messages.error(request, str(error))
    return redirect("invoice", pk=row.invoice_id)


@finance_page
@require_POST
def void(request: HttpRequest, pk: int) -> HttpResponse:
    """Void a proposed write-off, with a reason."""
    row = _write_off(pk)
    try:
        write_offs.void(write_off=row, reason=request.POST.get("reason", ""), by=actor(request))
        messages.success(request, "Write-off voided.")
    except ApplicationError as error:
        messages.error(request, str(error))
    return redirect("invoice", pk=row.invoice_id)


def _write_off(pk: int) -> WriteOff:
    row = WriteOff.objects.select_related("invoice").filter(pk=pk).first()
    if row is None:
        raise Http404("No such write-off.")
    return row
