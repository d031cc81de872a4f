"""Pages of bank lines: assign, exchange, match, confirm and set aside."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import reconciliation
from engagements.billing.balances import open_invoices
from engagements.billing.bank_forms import (
    AssignForm,
    SetAsideForm,
)
from engagements.billing.bank_models import BankLine
from engagements.billing.line_proposals import assignable_invoices, proposals
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_forms import ExchangeForm
from engagements.common.errors import ApplicationError
from engagements.common.integers import wholes
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.page_access import finance_page
from engagements.payouts import bank_matching
from engagements.payouts.bank_matching import Refund
from engagements.payouts.models import Transfer

OPEN = BankLine.State.OPEN


@finance_page
@require_safe
def line_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One line with its payments, or the form to assign it."""
    return _line(request, _line_of(pk))


@finance_page
@require_POST
def assign(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign a line to invoices."""
    line = _line_of(pk)
    invoices = {row.pk: row for row in assignable_invoices(line)}
    form = _assign_form(line, request)
    if form.is_valid():
        parts = [(invoices[key], amount) for key, amount in form.parts()]
        with errors_shown(request, form):
            reconciliation.assign(line=line, parts=parts, by=actor(request))
            messages.success(request, f"{format_money(line.amount, line.currency)} assigned.")
            return redirect("bank")
    return _line(request, _line_of(pk), assigning=form)


@finance_page
@require_POST
def exchange(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign a line to an invoice in another currency, by a rate."""
    line = _line_of(pk)
    form = _exchange_form(line, request)
    if form.is_valid():
        invoice, amount = form.payment(line.amount)
        with errors_shown(request, form):
            reconciliation.assign_exchanged(
                line=line, invoice=invoice, amount=amount, by=actor(request)
            )
            shown = format_money(amount, invoice.currency)
            messages.success(request, f"{shown} recorded for {invoice.reference}.")
            return redirect("bank")
    return _line(request, _line_of(pk), exchanging=form)


@finance_page
@require_POST
def set_aside(request: HttpRequest, pk: int) -> HttpResponse:
    """Set a line aside with a reason."""
    line, form = _line_of(pk), SetAsideForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            reconciliation.set_aside(line=line, note=form.cleaned_data["note"], by=actor(request))
            messages.success(request, "Line set aside.")
            return redirect("bank")
    return _line(request, _line_of(pk), setting_aside=form)


@finance_page
@require_POST
def match(request: HttpRequest, pk: int) -> HttpResponse:
    """Match a line with a refund: `refund` is its token, or "named" for those the line names."""
    line = _line_of(pk)
    chosen = request.POST.get("refund", "")
    targets = [row for row in _refunds(line) if refund_token(row) == chosen] or (
        bank_matching.refunds_named_by(line) if chosen == "named" else []
    )
    try:
        bank_matching.match(line=line, targets=targets, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
        return redirect("bank-line", pk=pk)
    messages.success(request, "Line matched with the refund.")
    return redirect("bank")


@finance_page
@require_POST
def set_aside_many(request: HttpRequest) -> HttpResponse:
    """Set the chosen outgoing lines aside with one reason."""
    form = SetAsideForm(request.POST)
    chosen = BankLine.objects.filter(
        pk__in=wholes(request.POST.getlist("line")), state=OPEN, amount__lt=0
    )
    if not form.is_valid() or not chosen:
        messages.error(request, "Choose at least one line and enter a reason.")
        return redirect("bank")
    for line in chosen:
        reconciliation.set_aside(line=line, note=form.cleaned_data["note"], by=actor(request))
    messages.success(request, "Lines set aside.")
    return redirect("bank")


def refund_token(refund: Refund) -> str:
    """A refund as form data, such as transfer:17."""
    return f"{'transfer' if isinstance(refund, Transfer) else 'overpaid'}:{refund.pk}"


def _refunds(line: BankLine) -> list[Refund]:
    """The refunds that a line may show; none once it is assigned or matched."""
    if line.state in (BankLine.State.ASSIGNED, BankLine.State.MATCHED):
        return []
    return bank_matching.candidates(line)


@finance_page
@require_POST
def confirm_payment(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a line as the bank's record of the keyed payment in `payment`."""
    line = _line_of(pk)
    [key, *_] = [*wholes(request.POST.getlist("payment")), 0]
    try:
        reconciliation.confirm_payment(
            line=line, payment=access.payment_for(request.user, key), by=actor(request)
        )
    except ApplicationError as error:
        messages.error(request, str(error))
        return redirect("bank-line", pk=pk)
    messages.success(request, f"{format_money(line.amount, line.currency)} confirmed.")
    return redirect("bank")


def _line_of(pk: int) -> BankLine:
    line = (
        BankLine.objects.select_related("bank_import", "handled_by")
        .defer("bank_import__content")
        .filter(pk=pk)
        .first()
    )
    if line is None:
        raise Http404("No such line.")
    return line


def _assign_form(line: BankLine, request: HttpRequest | None = None) -> AssignForm:
    choices = [
        (row.pk, f"{row.reference}, {row.customer}, {format_money(row.amount_due, row.currency)}")
        for row in assignable_invoices(line)
    ]
    initial: dict[str, object] = {"amount_1": line.amount}
    [proposal] = proposals([line])
    for number, (invoice, amount) in enumerate(proposal.parts[:4], start=1):
        initial |= {f"invoice_{number}": invoice.pk, f"amount_{number}": amount}
    data = request.POST if request else None
    return AssignForm(data, currency=line.currency, invoices=choices, initial=initial)


def _exchange_form(line: BankLine, request: HttpRequest | None = None) -> ExchangeForm:
    others = [row for row in open_invoices() if row.currency != line.currency]
    return ExchangeForm(
        request.POST if request else None,
        currency=line.currency,
        invoices=others,
        auto_id="id_exchange_%s",
    )


def _line(
    request: HttpRequest,
    line: BankLine,
    *,
    assigning: AssignForm | None = None,
    exchanging: ExchangeForm | None = None,
    setting_aside: forms.Form | None = None,
) -> HttpResponse:
    is_invalid = any(form is not None for form in (assigning, exchanging, setting_aside))
    context = {
        "line": line,
        "payments": line.payments.select_related("invoice")
        or Payment.objects.filter(confirmation__bank_line=line).select_related("invoice"),
        "keyed": reconciliation.keyed_payments(line) if line.state == OPEN else [],
        "matches": line.transfer_matches.select_related("transfer", "overpayment_refund__invoice"),
        "refunds": [(row, refund_token(row)) for row in _refunds(line)],
        "assigning": assigning or _assign_form(line),
        "exchanging": exchanging or _exchange_form(line),
        "setting_aside": setting_aside or SetAsideForm(auto_id="id_aside_%s"),
        "can_edit": access.is_finance(request.user),
        "awaits_confirmation": line.bank_import.awaits_confirmation,
    }
    status = UNPROCESSABLE if is_invalid else 200
    return render(request, "billing/bank_line.html", context, status=status)
