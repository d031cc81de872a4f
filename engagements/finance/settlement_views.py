"""The settlement: its whole calculation, and the steps from proposed to paid."""

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
from engagements.engagement.models import Engagement, Stage
from engagements.payouts import refund_accounts, refunds, transfer_files
from engagements.people import reauthentication
from engagements.runs import estimates
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.actions import actions, forms_of, waiting_for
from engagements.settlements.calculation import preview
from engagements.settlements.forms import ProposeSettlementForm
from engagements.settlements.models import Settlement
from engagements.settlements.pending import has_unsettled_payments
from engagements.settlements.planned import Planned, planned

State = Settlement.State

STEPS: dict[str, Performed[Settlement]] = {
    "approve": (
        lambda row, by, data: settlements.approve(settlement=row, by=by),
        "The settlement is approved. The transfer can be made.",
    ),
    "start": (
        lambda row, by, data: refunds.start_payment(settlement=row, by=by),
        "The payment is under way. The money counts as gone.",
    ),
    "paid": (
        lambda row, by, data: refunds.mark_paid(settlement=row, reference=data["reference"], by=by),
        "The settlement is paid. The statement goes to the customer.",
    ),
    "failed": (
        lambda row, by, data: refunds.mark_failed(
            settlement=row, reason=data["reason"], attempt=data["attempt"], by=by
        ),
        "The payment is marked as failed.",
    ),
    "void": (
        lambda row, by, data: settlements.void(settlement=row, reason=data["reason"], by=by),
        "The settlement is voided.",
    ),
    "resolve": (
        lambda row, by, data: disputes.resolve_open(
            settlement=row, note=data["note"], seen=data["dispute"], by=by
        ),
        "The dispute is resolved.",
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
    return _act(request, pk, step)


@access.finance_page
@require_POST
@reauthentication.with_reauthentication
def approve(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Approving says that the money may go: whoever does has just proved who they are."""
    return _act(request, pk, step)


def _act(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    settlement = access.settlement_for(request.user, pk)
    refused = perform(request, settlement, step, forms_=forms_of(settlement), steps=STEPS)
    if refused is None:
        return redirect("settlement", pk=pk)
    # Read again: another person's step may be what it was refused for.
    return _page(request, access.settlement_for(request.user, pk), sent={step: refused})


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: HttpRequest, reference: str) -> HttpResponse:
    """What settling a contract now would come to, and proposing exactly that.

    A further settlement is shown with what it would keep (`preview`) before it is proposed.
    """
    engagement = access.engagement_for(request.user, reference)
    contract = engagement.contracts.filter(state=ContractVersion.State.ACCEPTED).first()
    if contract is None:
        raise Http404("No contract in force.")
    contract.engagement = engagement
    live = contract.settlements.exclude(state__in=(State.VOIDED, State.PAID)).first()
    before = contract.settlements.filter(state=State.PAID).first()
    form = ProposeSettlementForm(
        request.POST or None,
        contract=contract,
        is_further=before is not None,
        initial={} if before else {"reason": _reason(engagement)},
    )
    kept = before.audit_cost if before else None
    if request.method == "POST" and form.is_valid():
        kept = kept if form.kept() is None else form.kept()
        if "preview" not in request.POST:
            proposed = _propose(request, contract, form)
            if proposed:
                messages.success(request, "The settlement is proposed. Somebody else approves it.")
                return redirect("settlement", pk=proposed.pk)
    calculation = preview(contract=contract, audit_cost=kept)
    context = {
        "engagement": engagement,
        "contract": contract,
        "live": live,
        "before": before,
        "page_title": f"Propose a {'further ' if before else ''}settlement",
        "form": form,
        "acts": access.is_finance(request.user),
        "calculation": calculation,
        "planned": planned(calculation),
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
            audit_cost=form.kept(),
            by=actor(request),
        )
    except ApplicationError as refusal:
        form.add_error(None, str(refusal))
        return None


def _reason(engagement: Engagement) -> str:
    is_missed = engagement.stage == Stage.MISSED
    return Settlement.Reason.MISSED if is_missed else Settlement.Reason.TIME_BOX


def _page(
    request: HttpRequest, settlement: Settlement, *, sent: dict[str, forms.Form] | None = None
) -> HttpResponse:
    engagement = settlement.contract_version.engagement
    received = payments.payments_of(settlement.contract_version)
    counted = [p for p in received if p.recorded_at <= settlement.proposed_at]
    later = [p for p in received if p not in counted]
    adds_up = sum((p.amount for p in counted), Decimal(0)) == settlement.payments_received
    if settlement.state == State.PAID:
        # What came later may be what it left to be paid, or have gone back by another.
        wants_another = has_unsettled_payments(engagement)
    else:
        wants_another = settlement.is_open and bool(later or not adds_up)
    outdated = wants_another and settlement.state == State.PROPOSED
    context = {
        "settlement": settlement,
        "contract": settlement.contract_version,
        "engagement": engagement,
        "counted": counted,
        "later": later,
        "wants_another": wants_another,
        "actions": actions(settlement, request.user, outdated=outdated, sent=sent),
        "waiting_for": waiting_for(settlement, outdated=outdated),
        "estimate": estimates.latest_acceptance(engagement),
        "history": engagement.events.filter(verb__startswith="settlement."),
        # What is refused sets nothing going, and would show other sums than the calculation.
        "planned": None if outdated else _planned(settlement),
        "credit_notes": settlement.credit_notes.order_by("pk"),
        "disputes": settlement.disputes.select_related("raised_by", "resolved_by"),
        "transfers": settlement.transfers.select_related("file", "started_by"),
        "bank_account": refund_accounts.current(engagement.customer),
        "by_file": transfer_files.obstacle(settlement),
        "statement": Document.objects.defer("content")
        .filter(kind=Document.Kind.SETTLEMENT_STATEMENT, subject=f"settlement:{settlement.pk}")
        .first(),
        "may_go_further": settlement.state == State.PAID,
    }
    status = UNPROCESSABLE if sent else 200
    return render(request, "settlements/settlement.html", context, status=status)


def _planned(settlement: Settlement) -> Planned | None:
    """What its approval would set going; None once it is approved."""
    if settlement.state != State.PROPOSED:
        return None
    contract = settlement.contract_version
    return planned(preview(contract=contract, audit_cost=settlement.audit_cost))
