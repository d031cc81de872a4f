"""The page of a customer's bank accounts for refunds."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.page_access import finance_page
from engagements.payouts import refund_accounts
from engagements.people import bank_accounts, reauthentication
from engagements.people.bank_accounts import BankAccount


class BankAccountForm(forms.Form):
    """The bank account of a customer's refunds."""

    holder = forms.CharField(
        label="Account holder", max_length=BankAccount._meta.get_field("holder").max_length
    )
    iban = forms.CharField(
        label="IBAN", max_length=42, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    bic = forms.CharField(
        label="BIC",
        max_length=14,
        required=False,
        help_text="Only where the bank asks for it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_iban(self) -> str:
        """Verify the IBAN."""
        return _validated(refund_accounts.valid_iban, self.cleaned_data["iban"])

    def clean_bic(self) -> str:
        """Verify the BIC."""
        return _validated(refund_accounts.valid_bic, self.cleaned_data["bic"])


def _validated(validate: Callable[[str], str], text: str) -> str:
    try:
        return validate(text)
    except ApplicationError as error:
        raise ValidationError(str(error), code=error.code) from error


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication.with_reauthentication
def bank_account(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a customer's accounts; POST proposes a new one, after a fresh sign-in."""
    customer = access.customer_for(request.user, pk)
    form = BankAccountForm(request.POST or None, initial={"holder": customer.name})
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            refund_accounts.add(customer=customer, by=actor(request), **form.cleaned_data)
            messages.success(
                request, f"A signatory of {customer} confirms this account in the portal."
            )
            return redirect("bank-account", pk=pk)
    context = {
        "customer": customer,
        "accounts": customer.bank_accounts.select_related("added_by", "confirmation__confirmed_by"),
        "current": bank_accounts.current(customer),
        "form": form,
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "payouts/refund_account.html", context, status=status)
