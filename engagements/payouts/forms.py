"""Forms of overpayments: move, refund, and the refund's steps."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms

from engagements.billing.payment_models import Payment
from engagements.common.amount_fields import AmountField, plain_amount

REFERENCE_LENGTH = Payment._meta.get_field("reference").max_length
Choices = Iterable[tuple[int, str]]


class OverpaymentRefundForm(forms.Form):
    """The amount of a refund, at most `overpaid`."""

    def __init__(self, *args: Any, currency: str, overpaid: Decimal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"] = AmountField(
            currency=currency,
            label=f"Amount in {currency}",
            help_text="With tax, at most the overpaid amount.",
            initial=plain_amount(overpaid, currency=currency) if overpaid > 0 else None,
            error_messages={"required": "Enter an amount."},
        )


class MoveForm(OverpaymentRefundForm):
    """The invoice and amount of a move; `reference` makes it idempotent.

    Only `open_invoices` are offered, but any of `invoices` is valid: a form sent twice must not
    fail because the first move closed the invoice.
    """

    to = forms.TypedChoiceField(
        label="To invoice",
        coerce=int,
        error_messages={"required": "Choose an invoice.", "invalid_choice": "Choose an invoice."},
    )
    reference = forms.CharField(max_length=REFERENCE_LENGTH, widget=forms.HiddenInput)
    field_order = ("to", "amount", "reference")

    def __init__(
        self, *args: Any, invoices: Choices, open_invoices: Choices, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        to = self.fields["to"]
        assert isinstance(to, forms.TypedChoiceField)
        to.choices = list(invoices)
        to.widget.choices = list(open_invoices)
        self.order_fields(self.field_order)


class OverpaymentRefundVoidForm(forms.Form):
    """The reason for voiding a proposal."""

    reason = forms.CharField(
        label="Reason for voiding",
        max_length=2000,
        help_text="Recorded with your name. Another refund can be proposed afterwards.",
        error_messages={"required": "Enter the reason for voiding."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
