"""Forms of the audit page: cost, findings, overrides."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.audit.models import Finding, FindingOutcome
from engagements.audit.rules import Check
from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.choice_fields import offer
from engagements.common.money import UnknownCurrency, minor_unit

VALUE_LIMIT = Finding._meta.get_field("value").max_length


class StartAuditForm(forms.Form):
    """The cost of the audit, net. It is not refunded if the target is missed."""

    currency = forms.CharField(
        min_length=3,
        max_length=3,
        help_text="Three letters, as in EUR. The contract uses it too.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters"}),
    )
    cost = forms.CharField(
        label="Cost of the audit, net",
        max_length=40,
        help_text="Not refunded if the target is missed. As in 1234.50, 1,234.50 or 1.234,50.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )

    def clean_currency(self) -> str:
        """Validate the currency; return its code in capitals."""
        code = str(self.cleaned_data["currency"]).upper()
        try:
            minor_unit(code)
        except UnknownCurrency as error:
            raise ValidationError(str(error), code="currency") from error
        return code

    def clean_cost(self) -> Decimal | None:
        """Parse the amount in its currency."""
        currency = self.cleaned_data.get("currency")
        if not currency:
            return None
        try:
            return parse_amount(self.cleaned_data["cost"], currency=currency)
        except AmountError as error:
            raise ValidationError(str(error), code="amount") from error


class FindingForm(forms.Form):
    """The recorded finding of a check: outcome, value and rationale."""

    outcome = forms.ChoiceField(
        choices=FindingOutcome,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose an outcome; Unknown where nothing is known."},
    )
    value = forms.CharField(
        max_length=VALUE_LIMIT,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    rationale = forms.CharField(
        max_length=5000,
        required=False,
        help_text="The source of the value, for the customer. Not needed for Unknown.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, check: Check, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"auto_id": f"id_{check.name}_%s"})
        self.fields["value"].label = check.value_label
        self.fields["value"].help_text = check.value_hint[:1].upper() + check.value_hint[1:]


class OverrideForm(forms.Form):
    """The override of a finding, with its reason."""

    outcome = forms.ChoiceField(
        label="The outcome that counts", choices=FindingOutcome, widget=forms.RadioSelect
    )
    reason = forms.CharField(
        max_length=5000,
        help_text="Shown beside the finding, in the report too. Another consultant confirms it.",
        error_messages={"required": "Enter the reason for the override."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, check: Check, found: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"auto_id": f"id_{check.name}_override_%s"})
        others = [choice for choice in FindingOutcome.choices if choice[0] != found]
        offer(self.fields["outcome"], others)
