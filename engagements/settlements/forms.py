"""Forms of settlements: propose, dispute, resolve, and the steps of payment."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

from engagements.common.amount_fields import AmountField
from engagements.contracts.models import ContractVersion
from engagements.settlements.models import Settlement

LONGEST_TEXT = 2000
FURTHER, CAUSE = Settlement.Reason.FURTHER, Settlement.Reason.CAUSE


class ProposeSettlementForm(forms.Form):
    """The reason of a settlement; of a further one also the audit cost kept, and a note."""

    reason = forms.ChoiceField(
        label="Reason",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a reason."},
    )

    def __init__(
        self, *args: Any, contract: ContractVersion, is_further: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        reasons = [each for each in Settlement.Reason if (each == FURTHER) == is_further]
        if not contract.settlements.filter(reason=CAUSE, overturned_at=None).exists():
            reasons = [each for each in reasons if each != CAUSE]
        field = self.fields["reason"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(reason.value, reason.label) for reason in reasons]
        if is_further:
            field.initial = FURTHER
        self.fields["keeps"] = forms.ChoiceField(
            label="Audit cost",
            choices=[
                ("same", "keep as before" if is_further else "keep as in the contract"),
                ("nothing", "refund in full"),
                ("less", "keep a smaller amount"),
            ],
            initial="same",
            required=is_further,
            help_text="" if is_further else "For an end by agreement only.",
            widget=forms.RadioSelect,
        )
        self.fields["audit_cost"] = AmountField(
            currency=contract.currency,
            label=f"Smaller amount, without tax, in {contract.currency}",
            required=False,
        )
        self.fields["note"] = forms.CharField(
            label="Reason for the further refund" if is_further else "Agreement",
            required=is_further,
            help_text="" if is_further else "Who agreed to end the engagement, when and why.",
            max_length=LONGEST_TEXT,
            error_messages={"required": "Enter the reason for the further refund."},
            widget=forms.Textarea(attrs={"rows": 2}),
        )

    def clean(self) -> dict[str, Any]:
        """Require the amount where a smaller one is kept."""
        data: dict[str, Any] = super().clean() or {}
        if data.get("reason") == Settlement.Reason.AGREED and not data.get("note"):
            self.add_error("note", "Enter who agreed to end the engagement, and why.")
        if data.get("keeps") == "less" and data.get("audit_cost") is None:
            self.add_error("audit_cost", "Enter the amount to keep.")
        return data

    def audit_cost(self) -> Decimal | None:
        """Return the audit cost to keep (net); None for the same as before."""
        keeps = self.cleaned_data.get("keeps") or "same"
        if keeps == "nothing":
            return Decimal(0)
        return self.cleaned_data.get("audit_cost") if keeps == "less" else None


class DisputeForm(forms.Form):
    """The customer's reason for a dispute."""

    reason = forms.CharField(
        label="Reason for the dispute",
        max_length=LONGEST_TEXT,
        error_messages={"required": "Enter the reason for the dispute."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ResolveForm(forms.Form):
    """The resolution of a dispute; `dispute` is the key of the one shown."""

    dispute = forms.IntegerField(widget=forms.HiddenInput, required=False)
    note = forms.CharField(
        label="Resolution",
        max_length=LONGEST_TEXT,
        help_text="The customer reads this.",
        error_messages={"required": "Enter the resolution."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class ReferenceForm(forms.Form):
    """The reference of a transfer or of a filed settlement."""

    reference = forms.CharField(
        label="Transfer reference",
        max_length=Settlement._meta.get_field("payment_reference").max_length,
        help_text="As on the bank statement.",
        error_messages={"required": "Enter the transfer reference."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class TransferPaidForm(ReferenceForm):
    """The bank's confirmation of a refund."""

    valued_on = forms.DateField(
        label="Value date",
        required=False,
        help_text="As on the bank statement; empty for today.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )


class SettlementFiledForm(ReferenceForm):
    """The filing reference of a settlement without a refund."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        reference = self.fields["reference"]
        reference.label = "Filing reference"
        reference.help_text = "Shown on the settlement statement."
        reference.error_messages["required"] = "Enter the filing reference."


class TransferFailedForm(forms.Form):
    """The bank's reason for a failed transfer."""

    reason = forms.CharField(
        label="Reason given by the bank",
        max_length=LONGEST_TEXT,
        error_messages={"required": "Enter the reason given by the bank."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class SettlementFailedForm(TransferFailedForm):
    """A failed transfer of a refund; `attempt` is the one shown."""

    attempt = forms.IntegerField(widget=forms.HiddenInput, required=False)


class SettlementVoidForm(forms.Form):
    """The reason for voiding a settlement."""

    reason = forms.CharField(
        label="Reason for voiding",
        max_length=LONGEST_TEXT,
        help_text="Recorded with your name. A corrected settlement can be proposed afterwards.",
        error_messages={"required": "Enter the reason for voiding."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
