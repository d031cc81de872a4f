"""The settlement: its whole calculation, and the steps from proposed to paid."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.errors import Refused
from engagements.forms.finance import ProposeSettlementForm
from engagements.models import ContractVersion, Engagement, Settlement, Stage, User
from engagements.queries import finance
from engagements.services import settlements
from engagements.views.answers import actor
from engagements.views.finance.words import FORMS, actions, waiting_for

Taken = Callable[[Settlement, User, dict[str, str]], Any]

STEPS: dict[str, tuple[Taken, str]] = {
    "approve": (
        lambda row, by, data: settlements.approve(settlement=row, by=by),
        "The settlement is approved. The transfer can be made.",
    ),
    "start": (
        lambda row, by, data: settlements.start_payment(settlement=row, by=by),
        "The payment is under way. The money counts as gone.",
    ),
    "paid": (
        lambda row, by, data: settlements.mark_paid(
            settlement=row, reference=data["reference"], by=by
        ),
        "The settlement is paid. The statement goes to the customer.",
    ),
    "failed": (
        lambda row, by, data: settlements.mark_failed(settlement=row, reason=data["reason"], by=by),
        "The payment is marked as failed.",
    ),
    "void": (
        lambda row, by, data: settlements.void(settlement=row, reason=data["reason"], by=by),
        "The settlement is voided.",
    ),
}


@access.finance_page
@require_safe
def settlement_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One settlement, line by line, with who did what."""
    return _page(request, access.settlement_for(request.user, pk))


@access.finance_page
@require_POST
def act(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Take one step of a settlement."""
    settlement = access.settlement_for(request.user, pk)
    form = FORMS[step](request.POST, auto_id=f"id_{step}_%s")
    if form.is_valid():
        take, done = STEPS[step]
        try:
            take(settlement, actor(request), form.cleaned_data)
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, done)
            return redirect("settlement", pk=pk)
    # Read again: another person's step may be what it was refused for.
    return _page(request, access.settlement_for(request.user, pk), sent={step: form}, status=422)


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: HttpRequest, reference: str) -> HttpResponse:
    """What settling a contract now would come to, and proposing exactly that."""
    engagement = access.engagement_for(request.user, reference)
    contract = engagement.contracts.filter(state=ContractVersion.State.ACCEPTED).first()
    if contract is None:
        raise Http404("No contract in force.")
    live = contract.settlements.exclude(state=Settlement.State.VOIDED).first()
    form = ProposeSettlementForm(request.POST or None, initial={"reason": _reason(engagement)})
    if request.method == "POST" and form.is_valid():
        try:
            proposed = settlements.propose(
                contract=contract, reason=form.cleaned_data["reason"], by=actor(request)
            )
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, "The settlement is proposed. Somebody else approves it.")
            return redirect("settlement", pk=proposed.pk)
    context = {
        "engagement": engagement,
        "contract": contract,
        "live": live,
        "form": form,
        "acts": access.is_finance(request.user),
        "calculation": settlements.preview(contract=contract),
    }
    status = 422 if form.errors else 200
    return render(request, "finance/settlement_propose.html", context, status=status)


def _reason(engagement: Engagement) -> str:
    is_missed = engagement.stage == Stage.MISSED
    return Settlement.Reason.MISSED if is_missed else Settlement.Reason.TIME_BOX


def _page(
    request: HttpRequest,
    settlement: Settlement,
    *,
    sent: dict[str, forms.Form] | None = None,
    status: int = 200,
) -> HttpResponse:
    engagement = settlement.contract_version.engagement
    payments = finance.payments_of(settlement.contract_version)
    counted = [p for p in payments if p.recorded_at <= settlement.proposed_at]
    context = {
        "settlement": settlement,
        "contract": settlement.contract_version,
        "engagement": engagement,
        "counted": counted,
        "later": [p for p in payments if p not in counted],
        "adds_up": sum((p.amount for p in counted), Decimal(0)) == settlement.payments_received,
        "actions": actions(settlement, request.user, sent=sent),
        "waiting_for": waiting_for(settlement),
        "estimate": finance.latest_acceptance(engagement),
        "history": engagement.events.filter(verb__startswith="settlement."),
    }
    return render(request, "finance/settlement.html", context, status=status)
