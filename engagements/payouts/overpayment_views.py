"""Pages of an overpaid invoice: move the overpayment, or refund it."""

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
from engagements.access import Person, actor
from engagements.billing.balances import balance_of, issued_invoices
from engagements.billing.models import Invoice
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE
from engagements.common.steps import Action, Performed, available_actions, perform
from engagements.page_access import finance_page
from engagements.payouts import overpayment_refunds, overpayments
from engagements.payouts.forms import (
    MoveForm,
    OverpaymentRefundForm,
    OverpaymentRefundVoidForm,
)
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.payouts.queries import (
    eligible_invoices,
    is_covered_by_settlement,
    open_overpayment_refunds,
    overpaid_amount,
    remaining_overpayment,
)
from engagements.people import bank_accounts, reauthentication, second_person
from engagements.people.models import User
from engagements.settlements.calculation import PlannedEntry
from engagements.settlements.forms import TransferFailedForm, TransferPaidForm

CONFIRM = "confirm"
State = OverpaymentRefund.State
STEP_FORMS: dict[str, type[forms.Form]] = {
    "send": forms.Form,
    "paid": TransferPaidForm,
    "failed": TransferFailedForm,
    "void": OverpaymentRefundVoidForm,
}
STEP_LABELS = {
    "send": (
        "Transfer by hand",
        "You make the transfer at the bank now: the money counts as gone. Asks for your password.",
    ),
    "paid": ("Mark as paid", "The bank has made the transfer."),
    "failed": ("Mark as failed", "The bank did not make the transfer: the overpayment is back."),
    "void": ("Void this refund", "Another refund can be proposed afterwards."),
}
STEPS_BY_STATE: dict[str, tuple[str, ...]] = {
    State.PROPOSED: ("send", "void"),
    State.PAYING: ("paid", "failed"),
}
STEPS: dict[str, Performed[OverpaymentRefund]] = {
    "send": (
        lambda row, by, data: overpayment_refunds.send(refund=row, by=by),
        "The transfer is under way. The money counts as gone.",
    ),
    "paid": (
        lambda row, by, data: overpayment_refunds.mark_paid(
            refund=row, reference=data["reference"], valued_on=data["valued_on"], by=by
        ),
        "The refund is paid.",
    ),
    "failed": (
        lambda row, by, data: overpayment_refunds.mark_failed(
            refund=row, reason=data["reason"], by=by
        ),
        "The transfer is marked as failed: the money is back on the invoice.",
    ),
    "void": (
        lambda row, by, data: overpayment_refunds.void(refund=row, reason=data["reason"], by=by),
        "The refund is voided.",
    ),
}


@finance_page
@require_safe
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """The overpayment of an invoice."""
    return _page(request, access.invoice_for(request.user, pk))


@finance_page
@require_POST
def move(request: HttpRequest, pk: int) -> HttpResponse:
    """Preview a move to another invoice; with `confirm`, make it."""
    invoice = access.invoice_for(request.user, pk)
    form = _move_form(invoice, request)
    if not form.is_valid():
        return _page(request, invoice, move_form=form)
    data = form.cleaned_data
    to, amount = access.invoice_for(request.user, data["to"]), data["amount"]
    try:
        if CONFIRM in request.POST:
            moved = overpayments.move(
                invoice=invoice,
                to=to,
                amount=amount,
                reference=data["reference"],
                by=actor(request),
            )
            shown = format_money(moved.amount, invoice.currency)
            messages.success(request, f"{shown} moved to {to.reference}.")
            return redirect("invoice", pk=invoice.pk)
        entries = overpayments.preview_move(invoice=invoice, to=to, amount=amount)
    except ApplicationError as error:
        form.add_error(None, str(error))
        return _page(request, invoice, move_form=form)
    return _page(request, invoice, move_form=form, entries=entries)


@finance_page
@require_POST
def propose_refund(request: HttpRequest, pk: int) -> HttpResponse:
    """Preview a refund; with `confirm`, propose it."""
    invoice = access.invoice_for(request.user, pk)
    form = _refund_form(invoice, request)
    if not form.is_valid():
        return _page(request, invoice, refund_form=form)
    amount = form.cleaned_data["amount"]
    try:
        if CONFIRM in request.POST:
            overpayment_refunds.propose(invoice=invoice, amount=amount, by=actor(request))
            messages.success(request, "Refund proposed. Another person of finance sends it.")
            return redirect("overpayment", pk=invoice.pk)
        entries = overpayment_refunds.preview(invoice=invoice, amount=amount)
    except ApplicationError as error:
        form.add_error(None, str(error))
        return _page(request, invoice, refund_form=form)
    return _page(request, invoice, refund_form=form, entries=entries)


@finance_page
@require_POST
def perform_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Perform a step of a refund."""
    row = access.overpayment_refund_for(request.user, pk)
    rejected = perform(request, row, step, forms_=STEP_FORMS, steps=STEPS)
    if rejected is None:
        return redirect("overpayment", pk=row.invoice_id)
    return _page(request, row.invoice, rejected={step: rejected})


# Sending moves money, so it needs a fresh sign-in.
send = finance_page(require_POST(reauthentication.with_reauthentication(perform_step)))


def _move_form(invoice: Invoice, request: HttpRequest | None = None) -> MoveForm:
    invoices = issued_invoices().filter(customer=invoice.customer_id, currency=invoice.currency)
    refund = open_overpayment_refunds().filter(invoice=invoice).first()
    return MoveForm(
        request.POST if request else None,
        auto_id="id_move_%s",
        currency=invoice.currency,
        overpaid=remaining_overpayment(balance_of(invoice), refund),
        invoices=_choices(invoices.exclude(pk=invoice.pk)),
        open_invoices=_choices(eligible_invoices(invoice)),
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
        auto_id="id_refund_%s",
        currency=invoice.currency,
        overpaid=overpaid_amount(balance_of(invoice)),
    )


def _page(
    request: HttpRequest,
    invoice: Invoice,
    *,
    move_form: MoveForm | None = None,
    refund_form: OverpaymentRefundForm | None = None,
    entries: Sequence[PlannedEntry] | None = None,
    rejected: dict[str, forms.Form] | None = None,
) -> HttpResponse:
    """Render the page, with the form that was sent or the `rejected` form of a step."""
    sent = move_form or refund_form
    row = balance_of(invoice)
    refunds = list(
        invoice.overpayment_refunds.select_related("proposed_by", "sent_by", "ended_by", "file")
    )
    # A rejected step still shows the newest refund, though another user may have ended it.
    refund = next((each for each in refunds if each.is_open or rejected), None)
    context = {
        "invoice": row,
        "engagement": invoice.engagement,
        "overpaid": overpaid_amount(row),
        "remaining": remaining_overpayment(row, refund),
        "is_settled": is_covered_by_settlement(invoice),
        "move_form": move_form or _move_form(invoice),
        "refund_form": refund_form or _refund_form(invoice),
        "has_open_invoices": eligible_invoices(invoice).exists(),
        # A valid form has been previewed, so that it can be confirmed.
        "may_move": move_form is not None and entries is not None,
        "may_refund": refund_form is not None and entries is not None,
        "entries": entries,
        "sent": sent,
        "refund": refund,
        "bank_account": bank_accounts.current(invoice.engagement.customer),
        "earlier": [each for each in refunds if not each.is_open],
        "steps": _actions(refund, request.user, rejected or {}) if refund else [],
        "acts": access.is_finance(request.user),
    }
    is_rejected = bool(rejected) or (sent is not None and bool(sent.errors))
    status = UNPROCESSABLE if is_rejected else 200
    return render(request, "payouts/overpayment.html", context, status=status)


def _actions(row: OverpaymentRefund, user: Person, rejected: dict[str, forms.Form]) -> list[Action]:
    return available_actions(
        STEPS_BY_STATE.get(row.state, ()),
        forms_=STEP_FORMS,
        labels=STEP_LABELS,
        blocking_reason=lambda name: _blocking_reason(row, name, user),
        rejected=rejected,
    )


def _blocking_reason(row: OverpaymentRefund, name: str, user: Person) -> str:
    if not access.is_finance(user):
        return "Only finance moves money."
    assert isinstance(user, User)
    if name == "send" and second_person.is_own(row, by=user):
        return "You proposed this refund: another person of finance sends it."
    if name == "failed" and second_person.is_missing(
        by=user, others=[row.sent_by_id], subject=row.subject
    ):
        return "You sent this refund: another person of finance records that it failed."
    return ""
