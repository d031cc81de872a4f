"""Pages of a settlement: its calculation, its steps, and the proposal."""

from __future__ import annotations

from decimal import Decimal

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import payments
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.common.steps import Performed, perform
from engagements.contracts.models import ContractVersion
from engagements.documents.models import Document
from engagements.engagement.models import Stage
from engagements.page_access import finance_page
from engagements.payouts import refunds, transfer_files
from engagements.people import bank_accounts, reauthentication
from engagements.runs import estimates
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.actions import actions, forms_of
from engagements.settlements.calculation import preview
from engagements.settlements.forms import ProposeSettlementForm
from engagements.settlements.grounds import default_audit_cost
from engagements.settlements.labels import next_step
from engagements.settlements.models import Settlement
from engagements.settlements.queries import has_unsettled_payments

State = Settlement.State

STEPS: dict[str, Performed[Settlement]] = {
    "approve": (
        lambda row, by, data: settlements.approve(settlement=row, by=by),
        "Settlement approved. The refund can be transferred.",
    ),
    "start": (
        lambda row, by, data: refunds.start_payment(settlement=row, by=by),
        "The transfer is under way. The money counts as gone.",
    ),
    "paid": (
        lambda row, by, data: refunds.mark_paid(
            settlement=row, reference=data["reference"], valued_on=data.get("valued_on"), by=by
        ),
        "Settlement paid. The customer receives the statement.",
    ),
    "failed": (
        lambda row, by, data: refunds.mark_failed(
            settlement=row, reason=data["reason"], attempt=data["attempt"], by=by
        ),
        "The transfer is marked as failed.",
    ),
    "void": (
        lambda row, by, data: settlements.void(settlement=row, reason=data["reason"], by=by),
        "Settlement voided.",
    ),
    "resolve": (
        lambda row, by, data: disputes.resolve_open(
            settlement=row, note=data["note"], expected=data["dispute"], by=by
        ),
        "Dispute resolved.",
    ),
}


@finance_page
@require_safe
def settlement_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One settlement with its calculation, actions and history."""
    return _page(request, access.settlement_for(request.user, pk))


@finance_page
@require_POST
def perform_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Perform a step of a settlement."""
    settlement = access.settlement_for(request.user, pk)
    rejected = perform(request, settlement, step, forms_=forms_of(settlement), steps=STEPS)
    if rejected is None:
        return redirect("settlement", pk=pk)
    # Reload: another user's step may be the reason.
    return _page(request, access.settlement_for(request.user, pk), rejected={step: rejected})


# The approval releases money, so it needs a fresh sign-in.
approve = finance_page(require_POST(reauthentication.with_reauthentication(perform_step)))


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the calculation of a settlement proposed now; POST proposes it.

    With `preview`, a further settlement is recalculated for the audit cost in the form.
    """
    engagement = access.engagement_for(request.user, reference)
    contract = engagement.contracts.filter(state=ContractVersion.State.ACCEPTED).first()
    if contract is None:
        raise Http404("No contract in force.")
    contract.engagement = engagement
    last_paid = contract.settlements.filter(state=State.PAID).first()
    is_missed = engagement.stage == Stage.MISSED
    last = contract.settlements.first()
    reason = last.reason if last and is_missed else Settlement.Reason.TIME_BOX
    form = ProposeSettlementForm(
        request.POST or None,
        contract=contract,
        is_further=last_paid is not None,
        initial={} if last_paid else {"reason": reason},
    )
    audit_cost = default_audit_cost(contract) if last_paid else None
    if request.method == "POST" and form.is_valid():
        audit_cost = audit_cost if form.audit_cost() is None else form.audit_cost()
        if "preview" not in request.POST:
            proposed = _propose(request, contract, form)
            if proposed:
                messages.success(request, "Settlement proposed. Another person approves it.")
                return redirect("settlement", pk=proposed.pk)
    context = {
        "engagement": engagement,
        "contract": contract,
        "open_settlement": contract.settlements.exclude(
            state__in=(State.VOIDED, State.PAID)
        ).first(),
        "is_further": last_paid is not None,
        "page_title": f"Propose a {'further ' if last_paid else ''}settlement",
        "form": form,
        "acts": access.is_finance(request.user),
        "calculation": preview(contract=contract, audit_cost=audit_cost),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "settlements/propose.html", context, status=status)


def _propose(
    request: HttpRequest, contract: ContractVersion, form: ProposeSettlementForm
) -> Settlement | None:
    try:
        return settlements.propose(
            contract=contract,
            reason=form.cleaned_data["reason"],
            note=form.cleaned_data.get("note", ""),
            audit_cost=form.audit_cost(),
            by=actor(request),
        )
    except ApplicationError as error:
        form.add_error(None, str(error))
        return None


def _page(
    request: HttpRequest, settlement: Settlement, *, rejected: dict[str, forms.Form] | None = None
) -> HttpResponse:
    engagement = settlement.contract_version.engagement
    received = payments.payments_of(settlement.contract_version)
    counted = [p for p in received if p.recorded_at <= settlement.proposed_at]
    later = [p for p in received if p not in counted]
    adds_up = sum((p.amount for p in counted), Decimal(0)) == settlement.payments_received
    if settlement.state == State.PAID:
        # Later payments may pay its balance due, or be refunded already.
        needs_another = has_unsettled_payments(engagement)
    else:
        needs_another = settlement.is_open and bool(later or not adds_up)
    is_proposed = settlement.state == State.PROPOSED
    is_outdated = needs_another and is_proposed
    context = {
        "settlement": settlement,
        "contract": settlement.contract_version,
        "engagement": engagement,
        "counted": counted,
        "unconfirmed": [p for p in received if not p.is_confirmed]
        if settlement.is_open and settlement.has_refund
        else [],
        "later": later,
        "needs_another": needs_another,
        "actions": actions(settlement, request.user, is_outdated=is_outdated, rejected=rejected),
        "next_step": next_step(settlement, is_outdated=is_outdated),
        "estimate": estimates.latest_acceptance(engagement),
        "history": engagement.events.filter(verb__startswith="settlement."),
        # The effects of an approval; an outdated proposal would show other sums.
        "calculation": preview(
            contract=settlement.contract_version, audit_cost=settlement.audit_cost
        )
        if is_proposed and not is_outdated
        else None,
        "credit_notes": settlement.credit_notes.order_by("pk"),
        "disputes": settlement.disputes.select_related("raised_by", "resolved_by"),
        "transfers": settlement.transfers.select_related("file", "started_by"),
        "bank_account": bank_accounts.current(engagement.customer),
        "file_blocking_reason": transfer_files.blocking_reason(settlement),
        "statement": Document.objects.defer("content")
        .filter(kind=Document.Kind.SETTLEMENT_STATEMENT, subject=f"settlement:{settlement.pk}")
        .first(),
        "may_go_further": settlement.state == State.PAID,
    }
    status = UNPROCESSABLE if rejected else 200
    return render(request, "settlements/settlement.html", context, status=status)
