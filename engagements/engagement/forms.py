"""Opening an engagement, and the acts in it that need a reason."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet

from engagements.engagement.models import Engagement
from engagements.people.models import Customer, Role, User


def consultants() -> QuerySet[User]:
    """Everybody who may lead an engagement."""
    roles = [Role.CONSULTANT, Role.ADMIN]
    return User.objects.filter(role__in=roles, is_active=True).order_by("name", "pk")


class EngagementForm(forms.Form):
    """A new engagement: for whom, what, and who leads it."""

    customer = forms.ModelChoiceField(
        queryset=Customer.objects.all(),
        empty_label="Choose a customer",
        help_text="An admin adds customers and their people in the admin site.",
    )
    title = forms.CharField(
        max_length=Engagement._meta.get_field("title").max_length,
        help_text="What the kernel is for, as in “Decode attention over one shared prompt”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    workload = forms.CharField(
        max_length=10_000,
        help_text="In the customer's own words. It becomes the scope of the contract.",
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    lead = forms.ModelChoiceField(
        queryset=consultants(), empty_label=None, help_text="Signs for the consultancy."
    )


class ReasonForm(forms.Form):
    """An act that stays on record with its reason."""

    reason = forms.CharField(
        max_length=2000,
        error_messages={"required": "Say why: it stays in the event log."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, label: str = "Reason", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].label = label
