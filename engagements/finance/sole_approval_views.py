"""Approve alone: the sole owner of a team of one, with a fresh second factor."""

from __future__ import annotations

import re

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.people import reauthentication, second_person

SUBJECT = re.compile(r"(settlement|overpayment|payment|reversal|period|reopening):([0-9]{1,18})")


@access.finance_page
@require_POST
def approve_alone(request: HttpRequest, subject: str) -> HttpResponse:
    """Record the sole owner's approval of a subject; its page then allows every step."""
    url = _page_of(request, subject)
    entered_at = reauthentication.require_second_factor(request)
    try:
        second_person.approve_alone(subject=subject, by=actor(request), second_factor_at=entered_at)
    except ApplicationError as error:
        messages.error(request, str(error))
    return redirect(url)


def _page_of(request: HttpRequest, subject: str) -> str:
    match = SUBJECT.fullmatch(subject)
    if match is None:
        raise Http404("No such subject.")
    kind, pk = match[1], int(match[2])
    if kind == "settlement":
        return reverse("settlement", args=[access.settlement_for(request.user, pk).pk])
    if kind == "overpayment":
        refund = access.overpayment_refund_for(request.user, pk)
        return reverse("overpayment", args=[refund.invoice_id])
    if kind in ("period", "reopening"):
        return reverse("ledger-close")
    if kind == "reversal":
        return reverse("reversal", args=[pk])
    return reverse("payment-record", args=[access.payment_for(request.user, pk).invoice_id])
