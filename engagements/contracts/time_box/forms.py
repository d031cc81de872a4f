"""Hours that a consultant notes."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

from django import forms

from engagements.common.date_fields import DayField
from engagements.contracts.time_box.models import TimeEntry


class TimeEntryForm(forms.Form):
    """One entry: the day, the hours and what was done."""

    worked_on = DayField(label="Day")
    hours = forms.DecimalField(
        min_value=Decimal("0.25"),
        max_value=Decimal(24),
        max_digits=4,
        decimal_places=2,
        widget=forms.NumberInput(attrs={"step": "0.25"}),
    )
    note = forms.CharField(
        label="What was done", max_length=TimeEntry._meta.get_field("note").max_length
    )
    # A form sent twice is one entry.
    request_key = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
