"""Form fields for dates."""

from __future__ import annotations

from typing import Any

from django import forms


class DayField(forms.DateField):
    """A date, picked from the browser's calendar or typed as 2026-03-31."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("error_messages", {"invalid": "Enter a date such as 2026-03-31."})
        super().__init__(
            widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **kwargs
        )
