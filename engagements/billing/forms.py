"""Forms of billing: payments, payment search, credit notes, waived audits."""

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
    """Filter of the payment list, in the query string."""

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
        label="Kind",
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

    def filters(self) -> dict[str, Any]:
        """The arguments of `found_payments`, without the invalid fields."""
        self.is_valid()
        data = self.cleaned_data
        return {
            "text": data.get("q", ""),
            "kind": data.get("kind", ""),
            "since": data.get("since"),
            "until": data.get("until"),
        }


class WaiveForm(forms.Form):
    """Reason for waiving the fee of an audit without a contract."""

    reason = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="Such as: billed outside Twofold as 2026-17, goodwill.",
        error_messages={"required": "Enter a reason."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class PaymentForm(forms.Form):
    """A payment received for an invoice: gross, in its currency.

    The service checks the open amount: a repeated request must not fail on its own payment.
    """

    received_on = forms.DateField(
        label="Received on",
        help_text="The value date on the bank statement.",
        error_messages={
            "required": "Enter the date of the payment.",
            "invalid": "Enter a date, such as 2026-03-31.",
        },
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    reference = forms.CharField(
        label="Reference",
        max_length=Payment._meta.get_field("reference").max_length,
        help_text="As on the bank statement. Each reference is recorded once.",
        error_messages={"required": "Enter the reference on the bank statement."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    may_exceed = forms.BooleanField(
        label="Allow more than the open amount",
        required=False,
        help_text="The excess becomes an overpayment.",
    )
    field_order = ("amount", "received_on", "reference", "may_exceed")

    def __init__(self, *args: Any, currency: str, max_payment: Decimal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"] = AmountField(
            currency=currency,
            label=f"Amount in {currency}",
            help_text="Including tax. 1234.50, 1,234.50 and 1.234,50 are all accepted.",
            error_messages={"required": "Enter the amount received."},
        )
        self.order_fields(self.field_order)
        today = timezone.localdate()
        self.fields["received_on"].widget.attrs["max"] = today.isoformat()
        if max_payment > 0:
            self.fields["amount"].initial = max_payment

    def clean_received_on(self) -> datetime.date:
        """Decline future dates."""
        day: datetime.date = self.cleaned_data["received_on"]
        today = timezone.localdate()
        if day > today:
            raise ValidationError(
                f"The date is in the future. Today is {today.isoformat()}.", code="future"
            )
        return day


class CreditForm(forms.Form):
    """A credit note: net amount and reason. `expected_credited` is the amount credited before."""

    reason = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="Printed on the credit note.",
        error_messages={"required": "Enter a reason."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    bill_again = forms.BooleanField(
        label="Bill the milestones again",
        required=False,
        help_text="For an unpaid invoice with an error. Otherwise its milestones become void.",
    )
    expected_credited = forms.DecimalField(widget=forms.HiddenInput, required=False)
    field_order = ("net", "reason", "bill_again", "expected_credited")

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["net"] = AmountField(
            currency=currency,
            label=f"Net amount in {currency}",
            required=False,
            help_text="Leave empty to credit the full remaining amount.",
        )
        self.order_fields(self.field_order)
