"""Forms of settlements: why one is proposed, disputed, resolved, and where a refund goes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.common.amount_fields import AmountField
from engagements.common.errors import ApplicationError
from engagements.contracts.models import ContractVersion
from engagements.settlements.models import Settlement

LONGEST_TEXT = 2000
FURTHER = Settlement.Reason.FURTHER


class ProposeSettlementForm(forms.Form):
    """Why a contract is settled; of a further settlement also what it keeps, and why."""

    reason = forms.ChoiceField(
        label="Reason",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose why the contract is settled."},
    )

    def __init__(
        self, *args: Any, contract: ContractVersion, is_further: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        reasons = (
            [FURTHER] if is_further else [each for each in Settlement.Reason if each != FURTHER]
        )
        field = self.fields["reason"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(reason.value, reason.label) for reason in reasons]
        if not is_further:
            return
        field.initial = FURTHER
        self.fields["keeps"] = forms.ChoiceField(
            label="Of the audit",
            choices=[
                ("same", "keep what was kept before"),
                ("nothing", "keep nothing"),
                ("less", "keep less"),
            ],
            initial="same",
            widget=forms.RadioSelect,
        )
        self.fields["audit_cost"] = AmountField(
            currency=contract.currency,
            label=f"If less: kept without tax, in {contract.currency}",
            required=False,
        )
        self.fields["note"] = forms.CharField(
            label="Why more goes back",
            max_length=LONGEST_TEXT,
            error_messages={"required": "Say why more goes back."},
            widget=forms.Textarea(attrs={"rows": 2}),
        )

    def clean(self) -> dict[str, Any]:
        """Less than before is an amount."""
        data: dict[str, Any] = super().clean() or {}
        if data.get("keeps") == "less" and data.get("audit_cost") is None:
            self.add_error("audit_cost", "Enter what is kept.")
        return data

    def kept(self) -> Decimal | None:
        """What a further settlement keeps of the audit (net); None for what was kept before."""
        keeps = self.cleaned_data.get("keeps", "same")
        if keeps == "nothing":
            return Decimal(0)
        return self.cleaned_data.get("audit_cost") if keeps == "less" else None


class DisputeForm(forms.Form):
    """What the customer objects to."""

    reason = forms.CharField(
        label="What is wrong with it",
        max_length=LONGEST_TEXT,
        error_messages={"required": "Say what you object to."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ResolveForm(forms.Form):
    """How a dispute ended: `dispute` is the one that was shown."""

    dispute = forms.IntegerField(widget=forms.HiddenInput, required=False)
    note = forms.CharField(
        label="How it was resolved",
        max_length=LONGEST_TEXT,
        help_text="The customer reads this.",
        error_messages={"required": "Say how the dispute was resolved."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def _checked(valid: Callable[[str], str], text: str) -> str:
    try:
        return valid(text)
    except ApplicationError as refused:
        raise ValidationError(str(refused), code="account") from refused
