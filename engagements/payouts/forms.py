"""What finance fills in about money beyond what an invoice asks: where it goes."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms

from engagements.billing.payment_models import Payment
from engagements.common.amount_fields import AmountField, plain_amount
from engagements.payouts.models import OverpaymentRefund

REFERENCE_LENGTH = Payment._meta.get_field("reference").max_length
Choices = Iterable[tuple[int, str]]


class MoveForm(forms.Form):
    """Which invoice takes how much. `reference` names the move, so that it is made once.

    `to` may be any of `invoices`; only those that are open are offered. So a form that is sent
    twice is not told that its own money has closed the invoice.
    """

    to = forms.TypedChoiceField(
        label="To which invoice",
        coerce=int,
        error_messages={"required": "Choose an invoice.", "invalid_choice": "Choose an invoice."},
    )
    reference = forms.CharField(max_length=REFERENCE_LENGTH, widget=forms.HiddenInput)
    field_order = ("to", "amount", "reference")

    def __init__(
        self,
        *args: Any,
        currency: str,
        excess: Decimal,
        invoices: Choices,
        offered: Choices,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        to = self.fields["to"]
        assert isinstance(to, forms.TypedChoiceField)
        to.choices = list(invoices)
        to.widget.choices = list(offered)
        self.fields["amount"] = _amount(currency, excess, "With tax, at most what is too much.")
        self.order_fields(self.field_order)


class OverpaymentRefundForm(forms.Form):
    """How much is to be paid back; somebody else sends it."""

    def __init__(self, *args: Any, currency: str, excess: Decimal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"] = _amount(currency, excess, "With tax, at most what is too much.")


class OverpaymentRefundPaidForm(forms.Form):
    """The bank's word that a transfer was made."""

    reference = forms.CharField(
        label="Reference of the transfer",
        max_length=OverpaymentRefund._meta.get_field("reference").max_length,
        help_text="As on the bank statement.",
        error_messages={"required": "Enter the reference of the transfer."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class OverpaymentRefundVoidForm(forms.Form):
    """Why a proposal is set aside."""

    reason = forms.CharField(
        label="Why it is not paid back",
        max_length=2000,
        help_text="Stays on record beside your name. Another proposal can be made after.",
        error_messages={"required": "Say why it is not paid back."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def _amount(currency: str, excess: Decimal, help_text: str) -> AmountField:
    initial = plain_amount(excess, currency=currency) if excess > 0 else None
    return AmountField(
        currency=currency,
        label=f"Amount in {currency}",
        help_text=help_text,
        initial=initial,
        error_messages={"required": "Enter an amount."},
    )
