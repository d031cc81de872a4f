"""Billing a milestone, and recording the money that arrives for it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.errors import Refused
from engagements.forms.finance import PaymentForm
from engagements.models import Milestone
from engagements.money import format_money
from engagements.queries.finance import MilestoneLine, lines_of
from engagements.services import invoices, payments
from engagements.views.answers import actor


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def bill(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue the invoice of one milestone."""
    line = _line(request, pk)
    form = forms.Form(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                drafted = invoices.draft(milestones=[line.milestone], by=actor(request))
                issued = invoices.issue(invoice=drafted, by=actor(request))
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"“{line.milestone.title}” is billed as {issued.reference}.")
            return redirect("finance")
    return _answer(request, "finance/bill.html", line, form)


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def record_payment(request: HttpRequest, pk: int) -> HttpResponse:
    """Record money that arrived for a bill."""
    line = _line(request, pk)
    form = PaymentForm(request.POST or None, currency=line.currency, outstanding=line.open_amount)
    if request.method == "POST" and form.is_valid():
        try:
            if line.invoice is None:
                raise Refused(f"“{line.milestone.title}” is not billed: no payment is expected.")
            payment = payments.record(invoice=line.invoice, by=actor(request), **form.cleaned_data)
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            shown = format_money(payment.amount, line.currency)
            messages.success(request, f"{shown} is recorded for “{line.milestone.title}”.")
            return redirect("finance")
    return _answer(request, "finance/payment.html", line, form)


def _line(request: HttpRequest, pk: int) -> MilestoneLine:
    """The milestone of a sealed contract: a draft's parts are nothing to bill."""
    lines = lines_of(
        Milestone.objects.filter(
            contract_version__sealed_at__isnull=False,
            contract_version__engagement__in=access.engagements_for(request.user),
            pk=pk,
        )
    )
    if not lines:
        raise Http404("No such milestone.")
    return lines[0]


def _answer(
    request: HttpRequest, template: str, line: MilestoneLine, form: forms.Form
) -> HttpResponse:
    milestone = line.milestone
    context: dict[str, Any] = {
        "line": line,
        "milestone": milestone,
        "contract": milestone.contract_version,
        "engagement": milestone.contract_version.engagement,
        "payments": line.invoice.payments.select_related("recorded_by") if line.invoice else [],
        "form": form,
        "acts": access.is_finance(request.user),
    }
    return render(request, template, context, status=422 if form.errors else 200)
