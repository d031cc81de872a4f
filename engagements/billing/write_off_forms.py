"""Forms of write-offs and of payments in another currency."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms

from engagements.billing.write_off_models import WriteOff
from engagements.common.amount_fields import AmountField
from engagements.common.money import quantize

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


class WriteOffForm(forms.Form):
    """Kind, amount and reason of a write-off."""

    kind = forms.ChoiceField(
        label="Cause",
        choices=WriteOff.Kind.choices,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a cause."},
    )
    reason = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="Such as: the correspondent bank kept a fee; insolvency file 12 IN 34/26.",
        error_messages={"required": "Enter a reason."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    field_order = ("kind", "amount", "reason")

    def __init__(
        self, *args: Any, currency: str, initial_amount: InvoiceWithBalance, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"] = AmountField(
            currency=currency,
            label=f"Amount in {currency}",
            help_text="Including tax.",
            initial=initial_amount.max_payment or None,
            error_messages={"required": "Enter the amount."},
        )
        self.order_fields(self.field_order)


class ExchangeForm(forms.Form):
    """An invoice in another currency than a bank line, and the rate."""

    invoice = forms.TypedChoiceField(
        label="Invoice", coerce=int, error_messages={"required": "Choose an invoice."}
    )
    rate = forms.DecimalField(
        min_value=Decimal("0.000001"),
        max_digits=14,
        decimal_places=6,
        error_messages={"required": "Enter the rate of your bank."},
    )

    def __init__(
        self, *args: Any, currency: str, invoices: Sequence[InvoiceWithBalance], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._invoices = {row.pk: row for row in invoices}
        field = self.fields["invoice"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [
            (row.pk, f"{row.reference}, {row.customer}, {row.currency}") for row in invoices
        ]
        self.fields["rate"].label = f"Rate: 1 {currency} in the invoice\u2019s currency"

    def payment(self, amount: Decimal) -> tuple[InvoiceWithBalance, Decimal]:
        """The chosen invoice, and `amount` of the line in its currency, rounded half-up."""
        invoice = self._invoices[self.cleaned_data["invoice"]]
        return invoice, quantize(amount * self.cleaned_data["rate"], invoice.currency)
