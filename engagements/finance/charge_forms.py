"""Forms of charges: maintenance, and the notice of a termination."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils import timezone

from engagements.charges.models import Charge
from engagements.common.amount_fields import AmountField
from engagements.common.date_fields import DayField
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import CooperationRequest
from engagements.engagement.models import Engagement


def _reason(help_text: str) -> forms.CharField:
    return forms.CharField(
        label="Reason",
        max_length=500,
        help_text=help_text,
        error_messages={"required": "Enter a reason."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class MaintenanceForm(forms.Form):
    """A month of maintenance and its amount."""

    month = DayField(label="Any day of the month")
    reason = _reason("What was maintained, or why a part of the month is charged.")
    field_order = ("month", "amount", "reason")

    def __init__(self, *args: Any, contract: ContractVersion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["month"].initial = timezone.localdate()
        self.fields["amount"] = AmountField(
            currency=contract.currency,
            label=f"Amount in {contract.currency}",
            help_text="Net; at most the contract’s monthly fee. Of a month that maintenance covers "
            "in part, enter the share of its days.",
            initial=contract.maintenance_fee,
            error_messages={"required": "Enter the amount."},
        )
        self.order_fields(self.field_order)


class NoticeForm(forms.Form):
    """The notice of a termination."""

    kind = forms.ChoiceField(
        label="Who ends the contract?",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose who ends the contract."},
    )
    notice_on = DayField(label="Day of the notice")
    request = forms.ModelChoiceField(
        label="Item that the customer did not provide",
        queryset=CooperationRequest.objects.none(),
        required=False,
        empty_label="None",
        help_text="For a cause of the customer: after fifteen working days.",
    )
    breach_noticed_on = DayField(
        label="Or: day on which you gave notice of another breach",
        required=False,
        help_text="For a cause of the customer: after ten working days without a remedy.",
    )
    reason = _reason("The customer reads this.")

    def __init__(
        self, *args: Any, engagement: Engagement, contract: ContractVersion, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        kind, item = self.fields["kind"], self.fields["request"]
        assert isinstance(kind, forms.ChoiceField)
        assert isinstance(item, forms.ModelChoiceField)
        choices = [(Charge.Kind.CAUSE.value, "The consultancy, for a cause of the customer")]
        if contract.convenience:
            label = "The customer, for its convenience: five working days after the notice"
            choices.append((Charge.Kind.CONVENIENCE.value, label))
        kind.choices = choices
        item.queryset = engagement.cooperation_requests.filter(provided_on__isnull=True)


class EndForm(forms.Form):
    """The reason for voiding or cancelling a charge."""

    reason = _reason("Why it is not charged.")
