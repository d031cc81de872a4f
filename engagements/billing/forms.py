"""What finance fills in about invoices: payments received and looked for, and credit notes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from engagements.billing.payment_models import Payment
from engagements.common.amount_fields import AmountField
from engagements.common.date_fields import DayField


class PaymentFilterForm(forms.Form):
    """Which payments are looked for. It stands in the address."""

    q = forms.CharField(
        label="Find by reference, invoice, engagement or customer",
        required=False,
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "class": "control filter__text",
                "placeholder": "Find by reference, invoice, engagement or customer",
            }
        ),
    )
    kind = forms.ChoiceField(
        label="Which",
        required=False,
        choices=[("", "All payments"), *Payment.Kind.choices],
        widget=forms.Select(attrs={"class": "control"}),
    )
    since = DayField(label="From", required=False)
    until = DayField(label="Until", required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("since", "until"):
            self.fields[name].widget.attrs["class"] = "control"

    def said(self) -> dict[str, Any]:
        """What `found_payments` takes. What cannot be read narrows nothing."""
        self.is_valid()
        said = self.cleaned_data
        return {
            "text": said.get("q", ""),
            "kind": said.get("kind", ""),
            "since": said.get("since"),
            "until": said.get("until"),
        }


class WaiveForm(forms.Form):
    """Why an audit that led to no contract is owed no more."""

    reason = forms.CharField(
        label="Why it is owed no more",
        max_length=500,
        help_text="Such as: billed outside as 2026-17, given up as a favour.",
        error_messages={"required": "Say why it is owed no more."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class PaymentForm(forms.Form):
    """Money that arrived for one invoice, gross, in its currency.

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
    may_exceed = forms.BooleanField(
        label="It is more than is open, and it did arrive",
        required=False,
        help_text="What is over stays to the customer's credit.",
    )
    field_order = ("amount", "received_on", "reference", "may_exceed")

    def __init__(self, *args: Any, currency: str, open_amount: Decimal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"] = AmountField(
            currency=currency,
            label=f"Amount in {currency}",
            help_text="With tax, as it arrived. 1234.50, 1,234.50 and 1.234,50 are all read.",
            error_messages={"required": "Enter the amount that arrived."},
        )
        self.order_fields(self.field_order)
        today = timezone.localdate()
        self.fields["received_on"].widget.attrs["max"] = today.isoformat()
        if open_amount > 0:
            self.fields["amount"].initial = open_amount

    def clean_received_on(self) -> datetime.date:
        """Money that has arrived has arrived by today."""
        day: datetime.date = self.cleaned_data["received_on"]
        today = timezone.localdate()
        if day > today:
            raise ValidationError(
                f"That is in the future (today is {today.isoformat()}).", code="future"
            )
        return day


class CreditForm(forms.Form):
    """How much of an invoice is taken back, net, and why. `seen` is what was credited before."""

    reason = forms.CharField(
        label="Why",
        max_length=500,
        help_text="The customer reads it on the credit note.",
        error_messages={"required": "Say why the invoice is corrected."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    bill_again = forms.BooleanField(
        label="Bill the milestones again",
        required=False,
        help_text="For an invoice that was wrong and not paid. Else they are owed no more.",
    )
    seen = forms.DecimalField(widget=forms.HiddenInput, required=False)
    field_order = ("net", "reason", "bill_again", "seen")

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["net"] = AmountField(
            currency=currency,
            label=f"Without tax, in {currency}",
            required=False,
            help_text="Leave it empty to take back all that is not credited yet.",
        )
        self.order_fields(self.field_order)
