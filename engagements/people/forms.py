"""Forms of what belongs to the consultancy or to a customer."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.people import service_accounts
from engagements.people.models import Customer, User


class OwnerForm(forms.Form):
    """A thing of the consultancy, for its staff, or of a customer that the user signs for."""

    customer = forms.ModelChoiceField(queryset=Customer.objects.none(), empty_label=None)

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields.pop("customer")
        if not by.is_staff_member:
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = service_accounts.signs_for(by)
            # After the fields of the form itself.
            self.fields["customer"] = field
