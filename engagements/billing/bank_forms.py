"""What finance fills in about bank files: the file, its columns, and where money goes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.billing.bank_files.csv_file import DATE_FORMATS, Layout, Table
from engagements.common.amount_fields import AmountField

EXAMPLES = {
    "%d.%m.%Y": "31.03.2026",
    "%d.%m.%y": "31.03.26",
    "%Y-%m-%d": "2026-03-31",
    "%d/%m/%Y": "31/03/2026",
    "%m/%d/%Y": "03/31/2026",
    "%Y%m%d": "20260331",
}
# What banks call their columns, in English and German.
NAMES = {
    "booked_on": r"book|buchung|date|datum|tag",
    "amount": r"amount|betrag|credit|haben",
    "text": r"text|zweck|description|details|remittance|memo",
    "payer": r"payer|name|auftraggeber|zahlung|counterparty|from",
    "payer_account": r"iban|account|konto",
    "reference": r"reference|referenz|transaction.?id|id$",
    "currency_column": r"currency|w(ä|ae)hrung|ccy",
}
MAX_PARTS = 4


class BankFileForm(forms.Form):
    """A file from the bank."""

    file = forms.FileField(
        label="File from the bank",
        help_text="CAMT.053 (XML) or CSV. The same file or entry twice is taken in once.",
        error_messages={
            "required": "Choose a file.",
            "empty": "This file is empty.",
        },
        widget=forms.FileInput(attrs={"accept": ".xml,.csv,.txt"}),
    )


class ColumnsForm(forms.Form):
    """Which column of a CSV means what."""

    def __init__(self, *args: Any, table: Table, currency: str = "EUR", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(str(at), name or f"Column {at + 1}") for at, name in enumerate(table.head)]
        labels = {
            "booked_on": "Day of booking",
            "amount": "Amount that came in",
            "text": "What the payer wrote",
            "payer": "Payer's name",
            "payer_account": "Payer's account",
            "reference": "The bank's reference of the entry",
            "currency_column": "Currency",
        }
        for name, label in labels.items():
            is_needed = name in ("booked_on", "amount", "text")
            self.fields[name] = forms.TypedChoiceField(
                label=label,
                choices=names if is_needed else [("", "not in this file"), *names],
                coerce=int,
                empty_value=None,
                required=is_needed,
                initial=_guess(name, table.head),
            )
        self.fields["currency"] = forms.RegexField(
            r"^[A-Z]{3}$",
            label="Currency where no column says it",
            initial=currency,
            error_messages={"invalid": "A currency is three capital letters, as in EUR."},
        )
        self.fields["date_format"] = forms.ChoiceField(
            label="How days are written", choices=[(form, EXAMPLES[form]) for form in DATE_FORMATS]
        )
        self.fields["decimal_mark"] = forms.ChoiceField(
            label="How amounts are written", choices=[(",", "1.234,50"), (".", "1,234.50")]
        )

    def layout(self) -> Layout:
        """What was chosen."""
        return Layout(**self.cleaned_data)


def _guess(role: str, head: Sequence[str]) -> str | None:
    for at, name in enumerate(head):
        if re.search(NAMES[role], name, re.IGNORECASE):
            return str(at)
    return None


class AssignForm(forms.Form):
    """Up to four invoices, with how much goes to each. `invoices` are (key, label) pairs."""

    def __init__(
        self, *args: Any, currency: str, invoices: Sequence[tuple[int, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for number in range(1, MAX_PARTS + 1):
            self.fields[f"invoice_{number}"] = forms.TypedChoiceField(
                label="Invoice" if number == 1 else f"Invoice {number}",
                choices=[("", "none"), *invoices],
                coerce=int,
                empty_value=None,
                required=number == 1,
                error_messages={"required": "Choose an invoice."},
            )
            self.fields[f"amount_{number}"] = AmountField(
                currency=currency,
                label=f"Amount in {currency}" if number == 1 else f"Amount {number}",
                required=number == 1,
                error_messages={"required": "Enter how much goes to it."},
            )

    def pairs(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """Each invoice's field beside its amount's."""
        return [(self[f"invoice_{n}"], self[f"amount_{n}"]) for n in range(1, MAX_PARTS + 1)]

    def clean(self) -> dict[str, Any]:
        """An invoice has an amount, and an amount has an invoice."""
        data = super().clean() or {}
        for number in range(1, MAX_PARTS + 1):
            invoice, amount = data.get(f"invoice_{number}"), data.get(f"amount_{number}")
            if (invoice is None) != (amount is None) and f"amount_{number}" not in self.errors:
                self.add_error(
                    f"amount_{number}",
                    ValidationError("An invoice and an amount go together.", code="pair"),
                )
        return data

    def parts(self) -> list[tuple[int, Decimal]]:
        """The invoices chosen, by key, with their amounts."""
        data = self.cleaned_data
        pairs = ((data[f"invoice_{n}"], data[f"amount_{n}"]) for n in range(1, MAX_PARTS + 1))
        return [(invoice, amount) for invoice, amount in pairs if invoice is not None]


class SetAsideForm(forms.Form):
    """Why money is for no invoice."""

    note = forms.CharField(
        label="Why it is for no invoice",
        max_length=500,
        help_text="Such as: sent back, tax refund, loan.",
        error_messages={"required": "Say why it is for no invoice."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
