"""Money beyond what an invoice asks: where it may go, and what either way would post."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing.balances import balance_of, issued_invoices
from engagements.billing.models import Invoice
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE
from engagements.ledger.models import Entry
from engagements.payouts import overpayment_refunds, overpayments, refund_accounts
from engagements.payouts.forms import MoveForm, OverpaymentRefundForm
from engagements.payouts.overpayments import Planned
from engagements.payouts.queries import (
    excess_of,
    may_take,
    open_overpayment_refunds,
    overpayment_refunds_of,
    rest_of,
    settled_by,
)
from engagements.payouts.step_views import steps_of
from engagements.settlements.planned import PlannedEntry, planned_entries

ACT = "act"


@access.finance_page
@require_safe
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """What is too much of an invoice, and the two ways that it may go."""
    return page(request, access.invoice_for(request.user, pk))


@access.finance_page
@require_POST
def move(request: HttpRequest, pk: int) -> HttpResponse:
    """Put it to another invoice: first what that would come to, then (`act`) the move."""
    invoice = access.invoice_for(request.user, pk)
    form = _move_form(invoice, request)
    if not form.is_valid():
        return page(request, invoice, moving=form)
    data = form.cleaned_data
    to = access.invoice_for(request.user, data["to"])
    try:
        if ACT in request.POST:
            arrived = overpayments.move(
                invoice=invoice,
                to=to,
                amount=data["amount"],
                reference=data["reference"],
                by=actor(request),
            )
            shown = format_money(arrived.amount, invoice.currency)
            messages.success(request, f"{shown} is put to {to.reference}.")
            return redirect("invoice", pk=invoice.pk)
        plan = overpayments.preview_move(invoice=invoice, to=to, amount=data["amount"])
    except ApplicationError as refused:
        form.add_error(None, str(refused))
        return page(request, invoice, moving=form)
    entries = _entries(Entry.Kind.PAYMENT_MOVED, plan)
    return page(request, invoice, moving=form, entries=entries)


@access.finance_page
@require_POST
def propose_refund(request: HttpRequest, pk: int) -> HttpResponse:
    """Pay it back: what that would post, then (`act`) the proposal that somebody else sends."""
    invoice = access.invoice_for(request.user, pk)
    form = _refund_form(invoice, request)
    if not form.is_valid():
        return page(request, invoice, paying=form)
    amount = form.cleaned_data["amount"]
    try:
        if ACT in request.POST:
            overpayment_refunds.propose(invoice=invoice, amount=amount, by=actor(request))
            messages.success(request, "It is proposed. Somebody else sends it.")
            return redirect("overpayment", pk=invoice.pk)
        plan = overpayment_refunds.preview(invoice=invoice, amount=amount)
    except ApplicationError as refused:
        form.add_error(None, str(refused))
        return page(request, invoice, paying=form)
    kinds = (Entry.Kind.PAYMENT_PAID_BACK, Entry.Kind.OVERPAYMENT_REFUND_PAID)
    entries = planned_entries(
        (kind, each.engagement.reference, each.effect)
        for kind, each in zip(kinds, plan, strict=True)
    )
    return page(request, invoice, paying=form, entries=entries)


def _entries(kind: Entry.Kind, plan: Sequence[Planned]) -> list[PlannedEntry]:
    return planned_entries((kind, each.engagement.reference, each.effect) for each in plan)


def _move_form(invoice: Invoice, request: HttpRequest | None = None) -> MoveForm:
    same = issued_invoices().filter(customer=invoice.customer_id, currency=invoice.currency)
    return MoveForm(
        request.POST if request else None,
        auto_id="id_move_%s",
        currency=invoice.currency,
        excess=rest_of(
            balance_of(invoice), open_overpayment_refunds().filter(invoice=invoice).first()
        ),
        invoices=_choices(same.exclude(pk=invoice.pk)),
        offered=_choices(may_take(invoice)),
        initial={"reference": f"MOVE-{uuid4().hex[:12].upper()}"},
    )


def _choices(rows: QuerySet[Any]) -> list[tuple[int, str]]:
    return [
        (row.pk, f"{row.reference}, {format_money(row.amount_due, row.currency)} open")
        for row in rows
    ]


def _refund_form(invoice: Invoice, request: HttpRequest | None = None) -> OverpaymentRefundForm:
    return OverpaymentRefundForm(
        request.POST if request else None,
        auto_id="id_back_%s",
        currency=invoice.currency,
        excess=excess_of(balance_of(invoice)),
    )


def page(
    request: HttpRequest,
    invoice: Invoice,
    *,
    moving: MoveForm | None = None,
    paying: OverpaymentRefundForm | None = None,
    entries: Sequence[PlannedEntry] | None = None,
    ending: dict[str, forms.Form] | None = None,
) -> HttpResponse:
    """The page with whichever form was sent; `ending` has those of a step that was refused."""
    sent: forms.Form | None = moving or paying
    row, backs = balance_of(invoice), list(overpayment_refunds_of(invoice))
    going = next((back for back in backs if back.is_open or ending), None)
    context = {
        "invoice": row,
        "engagement": invoice.engagement,
        "excess": excess_of(row),
        "rest": rest_of(row, going),
        "is_settled": settled_by(invoice.engagement),
        "moving": moving or _move_form(invoice),
        "paying": paying or _refund_form(invoice),
        "has_open": may_take(invoice).exists(),
        # What was filled in is right, and the act itself is the next step.
        "may_move": moving is not None and entries is not None,
        "may_pay": paying is not None and entries is not None,
        "entries": entries,
        "sent": sent,
        "going": going,
        "bank_account": refund_accounts.current(invoice.engagement.customer),
        "earlier": [back for back in backs if not back.is_open],
        "steps": steps_of(going, request.user, ending or {}) if going else [],
        "acts": access.is_finance(request.user),
    }
    is_refused = bool(ending) or (sent is not None and bool(sent.errors))
    status = UNPROCESSABLE if is_refused else 200
    return render(request, "payouts/overpayment.html", context, status=status)
