"""Pages of charges: the list, one charge with its calculation, and its steps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import F, OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import charge_invoices
from engagements.billing.balances import issued_invoices
from engagements.billing.invoices import billed_on
from engagements.billing.models import Invoice
from engagements.charges import services as charges
from engagements.charges.models import LIVE, Charge
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.contracts import versions
from engagements.contracts.models import ContractVersion
from engagements.event_log.models import Event
from engagements.finance.charge_forms import EndForm, MaintenanceForm, NoticeForm
from engagements.page_access import finance_page
from engagements.people import reauthentication
from engagements.people.models import User
from engagements.terminations import services as terminations

PER_PAGE = 50
State = Charge.State


@finance_page
@require_safe
def charge_list(request: HttpRequest) -> HttpResponse:
    """Charges that wait for approval or an invoice, then the others, newest first."""
    rows = Charge.objects.select_related(
        "engagement__customer", "contract_version", "proposed_by", "approved_by"
    )
    to_bill = charge_invoices.charges_to_bill()
    others = rows.exclude(state=State.PROPOSED).exclude(pk__in=to_bill.values("pk"))
    context = {
        "proposed": rows.filter(state=State.PROPOSED).order_by("proposed_at"),
        "to_bill": to_bill,
        "maintained": _maintained(),
        "listed": Paginator(others, PER_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "charges/charges.html", context)


def _maintained() -> list[tuple[ContractVersion, date | None]]:
    """Contracts with maintenance after the handover, each with the last month charged."""
    handed_over = Event.objects.filter(verb="handover.accepted").values("engagement")
    charged = Charge.objects.filter(
        engagement=OuterRef("engagement"), kind=Charge.Kind.MAINTENANCE, state__in=LIVE
    ).order_by("-month")
    rows = (
        ContractVersion.objects.filter(
            state=ContractVersion.State.ACCEPTED,
            maintenance_fee__isnull=False,
            engagement__in=handed_over,
        )
        .select_related("engagement__customer")
        .annotate(last_month=Subquery(charged.values("month")[:1]))
        .order_by(F("last_month").asc(nulls_first=True), "pk")
    )
    return [(row, row.last_month) for row in rows[:PER_PAGE]]


@finance_page
@require_safe
def charge_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One charge: what it is computed from, its approval and its invoice."""
    return _page(request, access.charge_for(request.user, pk))


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def maintenance(request: HttpRequest, reference: str) -> HttpResponse:
    """Propose to charge a month of maintenance."""
    engagement = access.engagement_for(request.user, reference)
    contract = versions.contract_in_force(engagement)
    if contract is None or contract.maintenance_fee is None:
        raise Http404("This contract agrees no maintenance.")
    form = MaintenanceForm(request.POST or None, contract=contract)
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            row = charges.propose_maintenance(
                engagement=engagement, by=actor(request), **form.cleaned_data
            )
            messages.success(request, "Proposed. Another person of finance approves it.")
            return redirect("charge", pk=row.pk)
    context = {"engagement": engagement, "contract": contract, "form": form}
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "charges/maintenance.html", _may_edit(request, context), status=status)


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def terminate(request: HttpRequest, reference: str) -> HttpResponse:
    """Record the notice of a termination."""
    engagement = access.engagement_for(request.user, reference)
    contract = versions.contract_in_force(engagement)
    if contract is None:
        raise Http404("No contract is in force.")
    form = NoticeForm(request.POST or None, engagement=engagement, contract=contract)
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            row = terminations.propose(
                engagement=engagement, by=actor(request), **form.cleaned_data
            )
            messages.success(request, "Recorded. Another person of finance confirms it.")
            return redirect("charge", pk=row.pk)
    context = {
        "engagement": engagement,
        "contract": contract,
        "form": form,
        "blocking_error": terminations.blocking_error(engagement),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "charges/terminate.html", _may_edit(request, context), status=status)


@finance_page
@require_POST
@reauthentication.with_reauthentication
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve a charge, or confirm a termination, as a second person."""
    row = access.charge_for(request.user, pk)
    act = terminations.approve if row.is_termination else charges.approve
    return _done(request, row, lambda: act(charge=row, by=actor(request)), "Approved.")


@finance_page
@require_POST
def bill(request: HttpRequest, pk: int) -> HttpResponse:
    """Draft the invoice of an approved charge."""
    row = access.charge_for(request.user, pk)
    try:
        invoice = charge_invoices.draft(charge=row, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
        return redirect("charge", pk=pk)
    return redirect("invoice", pk=invoice.pk)


@finance_page
@require_POST
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """Void a proposed charge, or cancel an approved one that no invoice bills."""
    row, form = access.charge_for(request.user, pk), EndForm(request.POST)
    if not form.is_valid():
        return _page(request, row, end_form=form, status=UNPROCESSABLE)
    by, reason = actor(request), form.cleaned_data["reason"]
    return _done(request, row, lambda: _end(row, reason, by), "The charge has ended.")


def _end(row: Charge, reason: str, by: User) -> Charge:
    if row.state == State.PROPOSED:
        return charges.void(charge=row, reason=reason, by=by)
    return charge_invoices.cancel(charge=row, reason=reason, by=by)


def _done(
    request: HttpRequest, row: Charge, act: Callable[[], object], message: str
) -> HttpResponse:
    form = forms.Form(data={})
    try:
        act()
    except ApplicationError as error:
        form.add_error(None, str(error))
        return _page(request, row, form=form, status=UNPROCESSABLE)
    messages.success(request, message)
    return redirect("charge", pk=row.pk)


def _page(
    request: HttpRequest,
    row: Charge,
    *,
    form: forms.Form | None = None,
    end_form: EndForm | None = None,
    status: int = 200,
) -> HttpResponse:
    row = access.charge_for(request.user, row.pk)
    is_proposed = row.state == State.PROPOSED
    is_approved = row.state == State.APPROVED
    draft = row.invoices.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.DRAFT).first()
    is_billed = draft is not None or billed_on(row) is not None
    context = {
        "charge": row,
        "contract": row.contract_version,
        "engagement": row.engagement,
        "invoices": issued_invoices().filter(charge=row).order_by("pk"),
        "draft": draft,
        "error": terminations.approval_error(row) if is_proposed and row.is_termination else None,
        "may_bill": is_approved and row.amount > 0 and not is_billed,
        "may_end": is_proposed or (is_approved and not row.is_termination and not is_billed),
        "form": form,
        "end_form": end_form or EndForm(),
    }
    return render(request, "charges/charge.html", _may_edit(request, context), status=status)


def _may_edit(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    return {**context, "can_edit": access.is_finance(request.user)}
