"""Approve alone: the sole owner of a team of one, with a fresh second factor."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor
from engagements.billing.bank_models import BankImport
from engagements.billing.models import Invoice
from engagements.billing.reversal_models import PaymentReversal
from engagements.billing.write_off_models import WriteOff
from engagements.charges.models import Charge
from engagements.common.errors import ApplicationError
from engagements.disputes.models import MeasurementDispute
from engagements.ledger.period_models import Period, PeriodReopening
from engagements.page_access import finance_page
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.people import reauthentication, second_person
from engagements.people.approval_models import FinanceGrant
from engagements.people.proposals import Proposal

SUBJECT = re.compile(r"([a-z_]{1,20}):([0-9]{1,18})")


def _invoice_of(request: HttpRequest, pk: int) -> str:
    row = get_object_or_404(WriteOff, pk=pk)
    return reverse("invoice", args=[access.invoice_for(request.user, row.invoice_id).pk])


def _credit_note(request: HttpRequest, pk: int) -> str:
    return reverse("invoice", args=[access.invoice_for(request.user, pk).pk])


def _overpayment(request: HttpRequest, pk: int) -> str:
    refund = access.overpayment_refund_for(request.user, pk)
    return reverse("overpayment", args=[refund.invoice_id])


def _payment(request: HttpRequest, pk: int) -> str:
    return reverse("payment-record", args=[access.payment_for(request.user, pk).invoice_id])


def _settlement(request: HttpRequest, pk: int) -> str:
    return reverse("settlement", args=[access.settlement_for(request.user, pk).pk])


def _dispute(request: HttpRequest, pk: int) -> str:
    row = get_object_or_404(MeasurementDispute, pk=pk)
    engagement = access.engagement_for(request.user, row.engagement.reference)
    return reverse("run-dispute", args=[engagement.reference, row.run_id])


def _on(name: str, model: type[Proposal]) -> Callable[[HttpRequest, int], str]:
    """The URL of a page that lists all proposals of `model`; 404 where there is no such one."""

    def page(request: HttpRequest, pk: int) -> str:
        get_object_or_404(model, pk=pk)
        return reverse(name)

    return page


def _bank_import(request: HttpRequest, pk: int) -> str:
    return reverse("bank-import", args=[get_object_or_404(BankImport, pk=pk).pk])


def _reversal(request: HttpRequest, pk: int) -> str:
    return reverse("reversal", args=[get_object_or_404(PaymentReversal, pk=pk).pk])


def _charge(request: HttpRequest, pk: int) -> str:
    return reverse("charge", args=[access.charge_for(request.user, pk).pk])


# The page of each subject, by its kind: every step that needs two people has one.
PAGES: dict[str, Callable[[HttpRequest, int], str]] = {
    "settlement": _settlement,
    "payment": _payment,
    "bank_import": _bank_import,
    "measurement_dispute": _dispute,
    OverpaymentRefund.KIND: _overpayment,
    Charge.KIND: _charge,
    Invoice.Kind.CREDIT_NOTE: _credit_note,
    WriteOff.KIND: _invoice_of,
    PaymentReversal.KIND: _reversal,
    Period.KIND: _on("ledger-close", Period),
    PeriodReopening.KIND: _on("ledger-close", PeriodReopening),
    FinanceGrant.KIND: _on("finance-people", FinanceGrant),
}


@finance_page
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
    if match is None or match[1] not in PAGES:
        raise Http404("No such subject.")
    return PAGES[match[1]](request, int(match[2]))
