"""Forms of customers: details, billing details, invitations."""

from __future__ import annotations

from typing import Any

from babel import Locale
from django import forms

from engagements.common.money import currency_codes
from engagements.customers.services import BILLING_FIELDS, FIELDS
from engagements.people.models import COUNTRY_CHOICES, Customer


class BillingForm(forms.ModelForm[Customer]):
    """The billing details that a customer maintains itself, with a list of countries."""

    country = forms.ChoiceField(choices=[("", "Choose a country"), *COUNTRY_CHOICES])

    class Meta:
        model = Customer
        fields: tuple[str, ...] = BILLING_FIELDS
        widgets = {"address": forms.Textarea(attrs={"rows": 3})}
        help_texts = {"vat_id": "With its country code, as in DE136695976. Its digits are checked."}


class CustomerForm(BillingForm):
    """All details of a customer, with a list of currencies."""

    currency = forms.ChoiceField(help_text="Default of its contracts.")

    class Meta(BillingForm.Meta):
        fields = FIELDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field, names = self.fields["currency"], Locale("en").currencies
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(code, f"{code}, {names.get(code, code)}") for code in currency_codes()]


class InviteForm(forms.Form):
    """Invite a person of a customer."""

    name = forms.CharField(max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    email = forms.EmailField(
        label="Email address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    position = forms.CharField(max_length=120, required=False)
    rights = forms.ChoiceField(
        help_text="Viewers read. Signatories also accept contracts, handovers and refund accounts."
    )

    def __init__(self, *args: Any, rights: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["rights"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = rights
