"""TODO docstring."""

from __future__ import annotations

from django import forms

from engagements.payouts import refund_accounts
from engagements.people.models import BankAccount
from engagements.settlements.forms import _checked


class BankAccountForm(forms.Form):
    """Where a customer's refunds go; the service checks the digits."""

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
        """Its digits, checked."""
        return _checked(refund_accounts.valid_iban, self.cleaned_data["iban"])

    def clean_bic(self) -> str:
        """It, if there is one, checked."""
        return _checked(refund_accounts.valid_bic, self.cleaned_data["bic"])
