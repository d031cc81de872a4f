"""Pages of payment reversals: what follows is shown before one is proposed or approved."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.billing import reversals
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankLine
from engagements.billing.payment_models import Payment
from engagements.billing.postings import position_of
from engagements.billing.reversal_models import PaymentReversal
from engagements.common.date_fields import DayField
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.page_access import finance_page
from engagements.people import reauthentication
from engagements.settlements.calculation import PlannedEntry
from engagements.settlements.models import Settlement
from engagements.settlements.queries import settlement_of

CONFIRM = "confirm"
Cause, State = PaymentReversal.Cause, PaymentReversal.State


class ReversalForm(forms.Form):
    """The cause, reason and date of a reversal."""

    cause = forms.ChoiceField(label="What happened?", widget=forms.RadioSelect)
    reason = forms.CharField(
        label="Reason", max_length=2000, widget=forms.Textarea(attrs={"rows": 2})
    )
    dated_on = DayField(label="Date", help_text="Of a chargeback: the bank’s value date.")
    bank_line = forms.ModelChoiceField(
        label="Bank line of the chargeback",
        queryset=BankLine.objects.none(),
        required=False,
        empty_label="None yet",
        help_text="The outgoing line that shows it, if the statement is imported.",
    )

    def __init__(self, *args: Any, payment: Payment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cause, line = self.fields["cause"], self.fields["bank_line"]
        assert isinstance(cause, forms.ChoiceField)
        assert isinstance(line, forms.ModelChoiceField)
        causes = reversals.causes_of(payment)
        cause.choices = [(each.value, each.label) for each in causes]
        line.queryset = reversals.chargeback_lines(payment)
        if not line.queryset.exists():
            del self.fields["bank_line"]


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the consequences of a reversal; with `confirm`, propose it."""
    payment = access.payment_for(request.user, pk)
    if payment.kind != Payment.Kind.RECEIVED:
        raise Http404("Only received payments can be reversed.")
    form = ReversalForm(
        request.POST or None, payment=payment, initial={"dated_on": timezone.localdate()}
    )
    cause = ""
    if request.method == "POST" and form.is_valid():
        cause = form.cleaned_data["cause"]
        if CONFIRM in request.POST:
            try:
                reversals.propose(payment=payment, by=actor(request), **form.cleaned_data)
            except ApplicationError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, "Reversal proposed. Another person approves it.")
                return redirect("payment-record", pk=payment.invoice_id)
    rows = reversals.payments_reversed_with(payment, cause) if cause else []
    context = {
        "payment": payment,
        "invoice": payment.invoice,
        "engagement": payment.invoice.engagement,
        "form": form,
        "may_confirm": bool(rows) and not form.errors,
        "consequences": consequences(rows, cause),
        "entries": planned_entries(rows),
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/reversal.html", context, status=status)


@finance_page
@require_http_methods(["GET", "HEAD"])
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a reversal with its consequences and the second person's buttons."""
    row = _reversal(request, pk)
    is_open = row.state == State.PROPOSED
    rows = reversals.payments_reversed_with(row.payment, row.cause) if is_open else []
    context = {
        "reversal": row,
        "payment": row.payment,
        "invoice": row.payment.invoice,
        "engagement": row.payment.invoice.engagement,
        "consequences": consequences(rows, row.cause),
        "entries": planned_entries(rows),
        "can_edit": access.is_finance(request.user),
    }
    return render(request, "billing/reversal_show.html", context)


@finance_page
@require_POST
@reauthentication.with_reauthentication
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve a reversal as a second person."""
    row = _reversal(request, pk)
    try:
        reversals.approve(reversal=row, by=actor(request))
        messages.success(request, "Payment reversed.")
    except ApplicationError as error:
        messages.error(request, str(error))
    return redirect("reversal", pk=pk)


@finance_page
@require_POST
def void(request: HttpRequest, pk: int) -> HttpResponse:
    """Void a proposed reversal."""
    row = _reversal(request, pk)
    try:
        reversals.void(reversal=row, by=actor(request))
        messages.success(request, "Reversal voided. The payment stays.")
    except ApplicationError as error:
        messages.error(request, str(error))
    return redirect("reversal", pk=pk)


def _reversal(request: HttpRequest, pk: int) -> PaymentReversal:
    access.admit_staff(request.user)
    rows = PaymentReversal.objects.select_related(
        "payment__invoice__engagement__customer", "proposed_by", "approved_by"
    )
    row = rows.filter(pk=pk).first()
    if row is None:
        raise Http404("No such reversal.")
    return row


def consequences(rows: list[Payment], cause: str) -> list[str]:
    """The consequences of reversing these payments, in words."""
    found = []
    for payment in rows:
        invoice = balance_of(payment.invoice)
        open_amount = format_money(invoice.open_amount + payment.amount, invoice.currency)
        found.append(f"{invoice.reference} then has {open_amount} open.")
        settlement = settlement_of(payment.invoice.engagement)
        if settlement is not None:
            found.append(_settlement_consequence(settlement))
        if payment.invoice.engagement.stage == "closed":
            found.append(f"{payment.invoice.engagement.reference} is reopened.")
        refunds = payment.invoice.overpayment_refunds.filter(state__in=["paying", "paid"])
        if refunds.exists():
            found.append("An overpayment of this invoice was already refunded.")
    if rows and cause == Cause.OTHER_INVOICE:
        found.append(_opened_line(rows))
    if cause == Cause.CHARGEBACK:
        found.append("The money has left our bank account.")
    return list(dict.fromkeys(found))


def _opened_line(rows: list[Payment]) -> str:
    line = rows[0].bank_line
    assert line is not None  # a payment of the wrong invoice has one
    shown = format_money(line.amount, line.currency)
    return f"The bank line over {shown} is open again: assign it to the right invoice."


def _settlement_consequence(settlement: Settlement) -> str:
    if settlement.state in (Settlement.State.PAYING, Settlement.State.PAID):
        refund = format_money(settlement.refund, settlement.currency)
        return f"The refund of {refund} has left: the customer then owes what it exceeds."
    if settlement.state == Settlement.State.PROPOSED:
        return "The proposed settlement counts this payment: void it and propose it again."
    return "The approved settlement counts this payment: its refund is not sent; void it."


def planned_entries(rows: list[Payment]) -> list[PlannedEntry]:
    """The ledger entries of reversing these payments."""
    planned = []
    for payment in rows:
        invoice = payment.invoice
        position = position_of(invoice)
        is_exchanged = payment.bank_amount is not None
        act = effects.reversed_in_another_currency if is_exchanged else effects.reversed_payment
        effect = act(position, payment.amount)
        planned.append(
            PlannedEntry(Entry.Kind.PAYMENT_REVERSED, invoice.engagement.reference, effect)
        )
    return planned
