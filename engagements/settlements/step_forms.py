"""What finance fills in about a settlement."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.settlements.models import Settlement


class SettlementPaidForm(forms.Form):
    """The bank's word that a refund went out."""

    reference = forms.CharField(
        label="Reference of the transfer",
        max_length=Settlement._meta.get_field("payment_reference").max_length,
        help_text="As on the bank statement. It goes on the settlement statement.",
        error_messages={"required": "Enter the reference of the transfer."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SettlementFiledForm(SettlementPaidForm):
    """The end of a settlement in which nothing goes back."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        reference = self.fields["reference"]
        reference.label = "Filed under"
        reference.help_text = "It goes on the settlement statement."
        reference.error_messages["required"] = "Enter what it is filed under."


class TransferFailedForm(forms.Form):
    """Why a transfer did not go through."""

    reason = forms.CharField(
        label="What the bank said",
        max_length=2000,
        error_messages={"required": "Say why the transfer failed."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class SettlementFailedForm(TransferFailedForm):
    """The same of a refund, which may be tried again: `attempt` is the one that was shown."""

    attempt = forms.IntegerField(widget=forms.HiddenInput, required=False)


class SettlementVoidForm(forms.Form):
    """Why a settlement is not to be paid as it stands."""

    reason = forms.CharField(
        label="Why it is voided",
        max_length=2000,
        help_text="Stays on record beside your name. A corrected settlement can be proposed after.",
        error_messages={"required": "Say why the settlement is voided."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )
