"""Forms: open an engagement, give a reason."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet

from engagements.engagement.models import Engagement
from engagements.people.models import Customer, Role, User


def consultants() -> QuerySet[User]:
    """Return the users who may lead an engagement."""
    roles = [Role.CONSULTANT, Role.ADMIN]
    people = User.objects.filter(role__in=roles, is_active=True, is_service=False)
    return people.order_by("name", "pk")


class EditForm(forms.Form):
    """Form that changes an engagement."""

    title = forms.CharField(
        max_length=Engagement._meta.get_field("title").max_length,
        help_text="Such as “Decode attention over one shared prompt”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    workload = forms.CharField(
        max_length=10_000,
        help_text="In the customer's own words; becomes the scope of the contract.",
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    lead = forms.ModelChoiceField(
        queryset=consultants(), empty_label=None, help_text="Signs for the consultancy."
    )


class EngagementForm(EditForm):
    """Form that opens an engagement."""

    customer = forms.ModelChoiceField(
        queryset=Customer.objects.all(),
        empty_label="Choose a customer",
        help_text="Add a new customer on the page Customers first.",
    )
    field_order = ("customer", "title", "workload", "lead")


class ReasonForm(forms.Form):
    """Form for an action that is logged with its reason."""

    reason = forms.CharField(
        max_length=2000,
        error_messages={"required": "Enter a reason; the event log keeps it."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, label: str = "Reason", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].label = label
