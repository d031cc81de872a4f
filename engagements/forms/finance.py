"""What finance fills in: payments received, and the steps of a settlement."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from engagements.forms.amounts import AmountField
from engagements.models import Payment, Settlement


class PaymentForm(forms.Form):
    """Money that arrived for one bill, gross, in the contract's currency.

    More than is open is refused by the service alone, under its lock: a form sent twice would
    else be told that its own payment leaves nothing open.
    """

    received_on = forms.DateField(
        label="Received on",
        help_text="The day on the bank statement.",
        error_messages={
            "required": "Enter the day on which the money arrived.",
            "invalid": "Enter a day as in 2026-03-31.",
        },
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    reference = forms.CharField(
        label="Reference",
        max_length=Payment._meta.get_field("reference").max_length,
        help_text="As on the bank statement. The same reference is recorded once.",
        error_messages={"required": "Enter the reference on the bank statement."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("amount", "received_on", "reference")

    def __init__(self, *args: Any, currency: str, outstanding: Decimal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.currency, self.outstanding = currency, outstanding
        self.fields["amount"] = AmountField(
            currency=currency,
            label=f"Amount in {currency}",
            help_text="With tax, as it arrived. 1234.50, 1,234.50 and 1.234,50 are all read.",
            error_messages={"required": "Enter the amount that arrived."},
        )
        self.order_fields(self.field_order)
        today = timezone.localdate()
        self.fields["received_on"].widget.attrs["max"] = today.isoformat()
        if outstanding > 0:
            self.fields["amount"].initial = outstanding

    def clean_received_on(self) -> datetime.date:
        """Money that has arrived has arrived by today."""
        day: datetime.date = self.cleaned_data["received_on"]
        today = timezone.localdate()
        if day > today:
            raise ValidationError(
                f"That is in the future (today is {today.isoformat()}).", code="future"
            )
        return day


class SettlementPaidForm(forms.Form):
    """The bank's word that a refund went out."""

    reference = forms.CharField(
        label="Reference of the transfer",
        max_length=Settlement._meta.get_field("payment_reference").max_length,
        help_text="As on the bank statement. It goes on the settlement statement.",
        error_messages={"required": "Enter the reference of the transfer."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SettlementFailedForm(forms.Form):
    """Why a transfer did not go through."""

    reason = forms.CharField(
        label="What the bank said",
        max_length=2000,
        error_messages={"required": "Say why the transfer failed."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class SettlementVoidForm(forms.Form):
    """Why a settlement is not to be paid as it stands."""

    reason = forms.CharField(
        label="Why it is voided",
        max_length=2000,
        help_text="Stays on record beside your name. A corrected settlement can be proposed after.",
        error_messages={"required": "Say why the settlement is voided."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class ProposeSettlementForm(forms.Form):
    """Why a contract is settled."""

    reason = forms.ChoiceField(
        label="Reason",
        choices=Settlement.Reason,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose why the contract is settled."},
    )
