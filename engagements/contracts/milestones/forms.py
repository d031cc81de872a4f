"""Forms of the handover."""

from __future__ import annotations

from django import forms

from engagements.common.date_fields import DayField


class HandOverForm(forms.Form):
    """Hand over the deliverables, with the last day to state a defect."""

    last_day = DayField(
        label="Last day to state a defect",
        required=False,
        help_text="Ten working days later. Enter a later day where public holidays at the "
        "customer’s seat fall between.",
    )


class ContestHandoverForm(forms.Form):
    """State what is missing or defective."""

    defect = forms.CharField(
        label="What is missing or defective",
        max_length=2000,
        error_messages={"required": "Enter what is missing or defective."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class AcceptHandoverForm(forms.Form):
    """Accept the handover."""

    agreed = forms.BooleanField(
        label="We have received what was agreed and accept the handover.",
        error_messages={"required": "Tick the box to accept the handover."},
    )
