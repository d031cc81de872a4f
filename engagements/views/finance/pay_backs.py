"""An overpayment on its way back, step by step: sent by another, paid or failed, or set aside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from engagements import access
from engagements.errors import Refused
from engagements.models import PayBack, User
from engagements.services import pay_backs
from engagements.views.answers import actor
from engagements.views.finance.overpayments import page
from engagements.views.finance.pay_back_steps import FORMS

Taken = Callable[[PayBack, User, dict[str, str]], Any]

STEPS: dict[str, tuple[Taken, str]] = {
    "send": (
        lambda row, by, data: pay_backs.send(pay_back=row, by=by),
        "The transfer is under way. The money counts as gone.",
    ),
    "paid": (
        lambda row, by, data: pay_backs.mark_paid(pay_back=row, reference=data["reference"], by=by),
        "It is paid back.",
    ),
    "failed": (
        lambda row, by, data: pay_backs.mark_failed(pay_back=row, reason=data["reason"], by=by),
        "The transfer is marked as failed: the money is the invoice's again.",
    ),
    "void": (
        lambda row, by, data: pay_backs.void(pay_back=row, reason=data["reason"], by=by),
        "It is not paid back.",
    ),
}


@access.finance_page
@require_POST
def act(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Take one step."""
    return _act(request, pk, step)


@access.finance_page
@require_POST
@access.with_fresh_sign_in
def send(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Sending lets money go: whoever does has just proved who they are."""
    return _act(request, pk, step)


def _act(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    row = access.pay_back_for(request.user, pk)
    form = FORMS[step](request.POST, auto_id=f"id_{step}_%s")
    if form.is_valid():
        take, done = STEPS[step]
        try:
            take(row, actor(request), form.cleaned_data)
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, done)
            return redirect("overpayment", pk=row.invoice_id)
    return page(request, row.invoice, ending={step: form})
