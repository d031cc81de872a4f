"""What the customer's people fill in: accepting or declining a contract, accepting a handover."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.contracts.models import Acceptance, ContractVersion

NAME_LIMIT = Acceptance._meta.get_field("typed_name").max_length


class AcceptContractForm(forms.Form):
    """Accept exactly the terms whose digest was on the screen."""

    typed_name = forms.CharField(
        label="Your full name",
        max_length=NAME_LIMIT,
        help_text="Typing your name is your signature.",
        error_messages={"required": "Type your full name: it is your signature."},
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    agreed = forms.BooleanField(
        label="I have read these terms and accept them for my company.",
        error_messages={"required": "Tick the box to accept the terms."},
    )
    # What was read, not what is stored now: the service compares the two.
    digest = forms.CharField(widget=forms.HiddenInput, max_length=71)

    def __init__(self, *args: Any, contract: ContractVersion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["digest"].initial = contract.digest


class DeclineContractForm(forms.Form):
    """Decline an offered contract, saying why."""

    reason = forms.CharField(
        label="Why you decline",
        max_length=2000,
        help_text="We read this and come back to you, with other terms if that helps.",
        error_messages={"required": "Say in a sentence why: it tells us what to change."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class AcceptHandoverForm(forms.Form):
    """Confirm that what was agreed has been handed over."""

    agreed = forms.BooleanField(
        label="We have received what was agreed and accept the handover.",
        error_messages={"required": "Tick the box to accept the handover."},
    )
