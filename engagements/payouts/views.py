"""An overpayment on its way back, step by step: sent by another, paid or failed, or set aside."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from engagements import access
from engagements.common.steps import Performed, perform
from engagements.payouts import overpayment_refunds
from engagements.payouts.models import OverpaymentRefund
from engagements.payouts.overpayment_views import page
from engagements.payouts.step_views import FORMS
from engagements.people import reauthentication

STEPS: dict[str, Performed[OverpaymentRefund]] = {
    "send": (
        lambda row, by, data: overpayment_refunds.send(refund=row, by=by),
        "The transfer is under way. The money counts as gone.",
    ),
    "paid": (
        lambda row, by, data: overpayment_refunds.mark_paid(
            refund=row, reference=data["reference"], by=by
        ),
        "It is paid back.",
    ),
    "failed": (
        lambda row, by, data: overpayment_refunds.mark_failed(
            refund=row, reason=data["reason"], by=by
        ),
        "The transfer is marked as failed: the money is the invoice's again.",
    ),
    "void": (
        lambda row, by, data: overpayment_refunds.void(refund=row, reason=data["reason"], by=by),
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
@reauthentication.with_reauthentication
def send(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Sending lets money go: whoever does has just proved who they are."""
    return _act(request, pk, step)


def _act(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    row = access.overpayment_refund_for(request.user, pk)
    refused = perform(request, row, step, forms_=FORMS, steps=STEPS)
    if refused is None:
        return redirect("overpayment", pk=row.invoice_id)
    return page(request, row.invoice, ending={step: refused})
