"""Forms of the ledger: export and period close."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.ledger import datev
from engagements.ledger.periods import next_month


class MonthField(forms.Field):
    """A month in HTML format, such as 2026-03; cleans to its first day."""

    widget = forms.TextInput(
        attrs={"type": "month", "pattern": r"[0-9]{4}-[0-9]{2}", "placeholder": "2026-03"}
    )

    def to_python(self, value: Any) -> dt.date | None:
        """Parse a month into its first day; None if empty."""
        text = str(value or "").strip()
        if not text:
            return None
        try:
            first = dt.datetime.strptime(text, "%Y-%m").date()
            # December 9999 has no next month.
            next_month(first)
        except (ValueError, OverflowError) as error:
            raise ValidationError("Enter a month, such as 2026-03.", code="month") from error
        return first

    def prepare_value(self, value: Any) -> Any:
        """Show a date as its month."""
        return f"{value:%Y-%m}" if isinstance(value, dt.date) else value


class PeriodForm(forms.Form):
    """The first and the last month of a period; `last_day` is cleaned from them."""

    first = MonthField(label="From", error_messages={"required": "Choose the first month."})
    last = MonthField(label="To", error_messages={"required": "Choose the last month."})

    def clean(self) -> dict[str, Any]:
        """Compute the last day."""
        data: dict[str, Any] = super().clean() or {}
        first, last = data.get("first"), data.get("last")
        if first and last:
            if last < first:
                self.add_error("last", "Enter a month that is not before the first.")
            data["last_day"] = next_month(last) - dt.timedelta(days=1)
        return data


class ExportForm(PeriodForm):
    """Months, format and currency of an export."""

    CSV, DATEV = "csv", "datev"
    format = forms.ChoiceField(
        label="Format",
        choices=[(CSV, "CSV, one line per leg"), (DATEV, "DATEV (EXTF), for the tax adviser")],
        widget=forms.RadioSelect,
        initial=CSV,
    )
    currency = forms.ChoiceField(label="Currency", required=False)
    chart = forms.ChoiceField(
        label="Chart of accounts",
        choices=[("04", "SKR04"), ("03", "SKR03")],
        initial="04",
        required=False,
        help_text="For DATEV only. Account numbers that you edited are kept.",
    )
    rate = forms.DecimalField(
        label="Price of one euro",
        required=False,
        min_value=datev.MIN_RATE,
        max_value=datev.MAX_RATE,
        decimal_places=datev.RATE_DECIMALS,
        help_text="For DATEV in another currency: in that currency, such as the tax office's rate "
        "of the month.",
    )
    adviser_number = forms.IntegerField(
        label="DATEV adviser number",
        required=False,
        min_value=1001,
        max_value=9999999,
        help_text="Beraternummer; for DATEV only.",
    )
    client_number = forms.IntegerField(
        label="DATEV client number",
        required=False,
        min_value=1,
        max_value=99999,
        help_text="Mandantennummer; for DATEV only.",
    )

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", "All (CSV only)"), *((code, code) for code in currencies)]
        field = self.fields["currency"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean(self) -> dict[str, Any]:
        """Require the DATEV fields for DATEV."""
        data = super().clean()
        if data.get("format") == self.DATEV:
            for name in ("currency", "adviser_number", "client_number"):
                if not data.get(name) and name not in self.errors:
                    self.add_error(name, "Required for DATEV.")
        return data


class CloseForm(forms.Form):
    """The month to close, and why it can be closed with open items."""

    month = MonthField(label="Month", error_messages={"required": "Choose the month to close."})
    note = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
