"""Forms of a measurement's dispute."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.common.amount_fields import AmountField
from engagements.disputes.models import MeasurementDispute
from engagements.runs.models import EngagementRun


class RaiseForm(forms.Form):
    """The reason, and who repeats the run."""

    reason = forms.CharField(
        label="Reason",
        max_length=2000,
        error_messages={"required": "Enter the reason for the dispute."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    repeater = forms.ChoiceField(
        label="Repeated by",
        choices=MeasurementDispute.Repeater,
        initial=MeasurementDispute.Repeater.EXPERT,
        widget=forms.RadioSelect,
    )
    expert = forms.CharField(
        label="Expert",
        max_length=200,
        required=False,
        help_text="Name and company. Enter your proposal if you have not agreed on one yet.",
    )

    def __init__(self, *args: Any, run: EngagementRun, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        contract = run.contract_version
        self.sealed_expert = contract.expert if contract else ""
        if self.sealed_expert:
            del self.fields["expert"]
            self.fields["repeater"].help_text = f"The contract names {self.sealed_expert}."

    def clean(self) -> dict[str, Any]:
        """Require an expert's name where the expert repeats and the contract names none."""
        values = super().clean() or {}
        is_expert = values.get("repeater") == MeasurementDispute.Repeater.EXPERT
        if is_expert and not self.sealed_expert and not values.get("expert"):
            self.add_error("expert", "Enter the expert.")
        return values


class RepeatForm(forms.Form):
    """The signed record of the repeat, and its cost."""

    record = forms.FileField(
        label="Record of the repeat", help_text="Signed by a key that is registered here."
    )

    def __init__(
        self, *args: Any, run: EngagementRun, is_expert: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        contract = run.contract_version
        currency = contract.currency if contract else "EUR"
        self.fields["cost"] = AmountField(
            currency=currency, label=f"Cost of the repeat in {currency}, net", required=False
        )
        if is_expert:
            self.fields["cost_payer"] = forms.ChoiceField(
                label="Paid to the expert by", choices=MeasurementDispute.Party
            )


class MessageForm(forms.Form):
    """A message with an optional file."""

    text = forms.CharField(label="Message", max_length=5000, widget=forms.Textarea({"rows": 3}))
    attachment = forms.FileField(required=False, help_text="At most 10 MiB.")


class DecideForm(forms.Form):
    """The reason to end a dispute without a repeat; the confirming consultant enters none."""

    note = forms.CharField(label="Reason", max_length=2000, required=False)


class ReimburseForm(forms.Form):
    """The document by which the cost of a repeat was reimbursed."""

    reference = forms.CharField(
        label="Invoice or transfer",
        max_length=80,
        help_text="Number of the invoice or transfer between the parties.",
    )
