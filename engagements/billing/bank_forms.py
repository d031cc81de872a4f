"""Forms of bank reconciliation: upload, CSV columns, assignment."""

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
# Column names of banks, in English and German.
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
    """Upload of a bank statement."""

    file = forms.FileField(
        label="Bank statement",
        help_text="CAMT.053 (XML) or CSV. Repeated files and lines are imported once.",
        error_messages={
            "required": "Choose a file.",
            "empty": "The file is empty.",
        },
        widget=forms.FileInput(attrs={"accept": ".xml,.csv,.txt"}),
    )


class ColumnsForm(forms.Form):
    """Choice of the columns of a CSV file."""

    def __init__(
        self,
        *args: Any,
        table: Table,
        accounts: Sequence[str],
        currency: str = "EUR",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["account"] = forms.ChoiceField(
            label="Our account",
            choices=[(iban, iban) for iban in accounts],
            initial=accounts[0],
            error_messages={"required": "Choose the account of this file."},
        )
        names = [(str(at), name or f"Column {at + 1}") for at, name in enumerate(table.head)]
        labels = {
            "booked_on": "Booking date",
            "amount": "Amount",
            "text": "Payment reference",
            "payer": "Payer",
            "payer_account": "Payer's account",
            "reference": "Bank reference",
            "currency_column": "Currency",
        }
        for name, label in labels.items():
            is_needed = name in ("booked_on", "amount", "text")
            self.fields[name] = forms.TypedChoiceField(
                label=label,
                choices=names if is_needed else [("", "Not in this file"), *names],
                coerce=int,
                empty_value=None,
                required=is_needed,
                initial=_guess(name, table.head),
            )
        self.fields["currency"] = forms.RegexField(
            r"^[A-Z]{3}$",
            label="Currency if no column has it",
            initial=currency,
            error_messages={"invalid": "Enter a currency code, such as EUR."},
        )
        self.fields["date_format"] = forms.ChoiceField(
            label="Date format", choices=[(form, EXAMPLES[form]) for form in DATE_FORMATS]
        )
        self.fields["decimal_mark"] = forms.ChoiceField(
            label="Amount format", choices=[(",", "1.234,50"), (".", "1,234.50")]
        )

    def layout(self) -> Layout:
        """The chosen layout."""
        return Layout(**self.cleaned_data)


def _guess(role: str, head: Sequence[str]) -> str | None:
    for at, name in enumerate(head):
        if re.search(NAMES[role], name, re.IGNORECASE):
            return str(at)
    return None


class AssignForm(forms.Form):
    """Up to four invoices with an amount each. `invoices` are (key, label) pairs."""

    def __init__(
        self, *args: Any, currency: str, invoices: Sequence[tuple[int, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for number in range(1, MAX_PARTS + 1):
            self.fields[f"invoice_{number}"] = forms.TypedChoiceField(
                label="Invoice" if number == 1 else f"Invoice {number}",
                choices=[("", "None"), *invoices],
                coerce=int,
                empty_value=None,
                required=number == 1,
                error_messages={"required": "Choose an invoice."},
            )
            self.fields[f"amount_{number}"] = AmountField(
                currency=currency,
                label=f"Amount in {currency}" if number == 1 else f"Amount {number}",
                required=number == 1,
                error_messages={"required": "Enter an amount."},
            )

    def pairs(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The invoice and amount fields in pairs."""
        return [(self[f"invoice_{n}"], self[f"amount_{n}"]) for n in range(1, MAX_PARTS + 1)]

    def clean(self) -> dict[str, Any]:
        """Require both or neither of each pair."""
        data = super().clean() or {}
        for number in range(1, MAX_PARTS + 1):
            invoice, amount = data.get(f"invoice_{number}"), data.get(f"amount_{number}")
            if (invoice is None) != (amount is None) and f"amount_{number}" not in self.errors:
                self.add_error(
                    f"amount_{number}",
                    ValidationError("Choose an invoice and enter its amount.", code="pair"),
                )
        return data

    def parts(self) -> list[tuple[int, Decimal]]:
        """The chosen invoices, by key, with their amounts."""
        data = self.cleaned_data
        pairs = ((data[f"invoice_{n}"], data[f"amount_{n}"]) for n in range(1, MAX_PARTS + 1))
        return [(invoice, amount) for invoice, amount in pairs if invoice is not None]


class SetAsideForm(forms.Form):
    """Reason for setting a line aside."""

    note = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="Such as: rent, wages, tax refund, loan.",
        error_messages={"required": "Enter a reason."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
