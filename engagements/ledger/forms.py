"""Forms of the ledger: which months to export, and for whom at DATEV."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.ledger.periods import next_month


class MonthField(forms.Field):
    """A month as browsers send it (2026-03); cleans to its first day."""

    widget = forms.TextInput(
        attrs={"type": "month", "pattern": r"[0-9]{4}-[0-9]{2}", "placeholder": "2026-03"}
    )

    def to_python(self, value: Any) -> dt.date | None:
        """The first day of the month, or None for an empty field that is not required."""
        text = str(value or "").strip()
        if not text:
            return None
        try:
            first = dt.datetime.strptime(text, "%Y-%m").date()
            # The calendar's last month has none after it, and so no end that can be counted.
            next_month(first)
        except (ValueError, OverflowError) as error:
            raise ValidationError("Enter a month as in 2026-03.", code="month") from error
        return first

    def prepare_value(self, value: Any) -> Any:
        """A day is shown as its month."""
        return f"{value:%Y-%m}" if isinstance(value, dt.date) else value


class ExportForm(forms.Form):
    """Which part of the ledger to export, as what."""

    CSV, DATEV = "csv", "datev"
    first = MonthField(label="From", error_messages={"required": "Choose the first month."})
    last = MonthField(label="Up to", error_messages={"required": "Choose the last month."})
    format = forms.ChoiceField(
        label="As",
        choices=[(CSV, "CSV: every leg, a line each"), (DATEV, "DATEV: EXTF, for the tax adviser")],
        widget=forms.RadioSelect,
        initial=CSV,
    )
    currency = forms.ChoiceField(label="Currency", required=False)
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
        """The span of days, and all that DATEV wants where it is asked for."""
        data: dict[str, Any] = super().clean() or {}
        first, last = data.get("first"), data.get("last")
        if first and last:
            if last < first:
                self.add_error("last", "The last month is before the first.")
            data["last_day"] = next_month(last) - dt.timedelta(days=1)
        if data.get("format") == self.DATEV:
            for name in ("currency", "adviser_number", "client_number"):
                if not data.get(name) and name not in self.errors:
                    self.add_error(name, "DATEV wants this.")
        return data


class CloseForm(forms.Form):
    """Which month to close."""

    month = MonthField(label="Month", error_messages={"required": "Choose the month to close."})
