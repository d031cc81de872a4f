"""Forms of audit orders."""

from __future__ import annotations

from django import forms

from engagements.contracts.forms import AcceptForm
from engagements.contracts.models import MAX_PAYMENT_DAYS


class OfferOrderForm(forms.Form):
    """The terms of an order besides the price, which is the audit's cost."""

    valid_until = forms.DateField(
        label="Open for acceptance until",
        error_messages={"required": "Enter the last day.", "invalid": "Enter a date."},
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    payment_days = forms.IntegerField(
        label="Days to pay",
        min_value=0,
        max_value=MAX_PAYMENT_DAYS,
        initial=14,
        error_messages={"required": "Enter the days to pay."},
    )


class AcceptOrderForm(AcceptForm):
    """The customer's acceptance."""

    agreed = forms.BooleanField(
        label="I have read this order and accept it for my company. My typed name is my signature.",
        error_messages={"required": "Tick the box to accept the order."},
    )
    field_order = ("typed_name", "agreed", "digest")


class WithdrawOrderForm(forms.Form):
    """The reason for withdrawing an order."""

    reason = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="The customer reads this.",
        error_messages={"required": "Enter a reason."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
