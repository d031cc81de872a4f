"""Forms of the page of tokens."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.people import api_tokens, service_accounts
from engagements.people.forms import OwnerForm
from engagements.people.models import User
from engagements.people.token_models import CHOSEN_SCOPES, ApiToken, Scope


class TokenForm(forms.ModelForm[ApiToken]):
    """A new token: for the user, or for a service account that they manage."""

    owner = forms.ModelChoiceField(queryset=User.objects.none(), label="For")
    scopes = forms.MultipleChoiceField(
        choices=CHOSEN_SCOPES,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ],
        help_text="A token has at most the permissions of its owner.",
    )
    days = forms.IntegerField(
        label="Valid for (days)",
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        initial=api_tokens.DEFAULT_DAYS,
    )

    class Meta:
        model = ApiToken
        fields = ("name", "owner", "scopes")
        help_texts = {"name": "Where it is used, such as “CI of the kernels”."}

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        accounts = service_accounts.managed_by(by).filter(runner=None).values("pk")
        field = self.fields["owner"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = User.objects.filter(pk__in=[by.pk]) | User.objects.filter(pk__in=accounts)
        field.initial, field.empty_label = by.pk, None


class ServiceAccountForm(OwnerForm):
    """A new service account of the consultancy, or of a customer that the user signs for."""

    account_name = forms.CharField(
        max_length=120, label="Name", help_text="The program, such as “Grafana”."
    )
