"""An amendment: what changes, and why."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements import access
from engagements.common.amount_fields import AmountField
from engagements.common.choice_fields import BenchmarkField, offer_rows
from engagements.common.date_fields import DayField
from engagements.contracts.amendments import Change
from engagements.contracts.drafting import PauseDraft
from engagements.contracts.models import MAX_WEEKS, ContractVersion
from engagements.contracts.time_box.models import Pause
from engagements.people.models import User
from engagements.people.signatories import signatories_of

Amendment = ContractVersion.Amendment
NEEDED: dict[str, tuple[str, ...]] = {
    Amendment.MORE_TIME: ("weeks",),
    Amendment.PAUSE: ("pause_from", "pause_until", "waits_for", "pause_reason"),
    Amendment.BENCHMARK: ("benchmark",),
    Amendment.PRICE: ("fee",),
    Amendment.SIGNATORY: (),
}


class AmendmentForm(forms.Form):
    """One change of the contract in force. Only what belongs to the chosen change is read."""

    change = forms.ChoiceField(
        label="What changes", choices=Amendment, widget=forms.RadioSelect, initial="more_time"
    )
    reason = forms.CharField(
        label="Why",
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Stands in the amendment, where both parties read it.",
    )
    valid_until = DayField(label="Valid until", required=False)
    weeks = forms.IntegerField(label="Weeks in all", required=False, max_value=MAX_WEEKS)
    pause_from = DayField(
        label="From",
        required=False,
        help_text="The first day of an agreed pause changes that one: it ends earlier or later.",
    )
    pause_until = DayField(label="Until", required=False, help_text="Both days included.")
    waits_for = forms.CharField(
        label="Waiting for",
        required=False,
        max_length=Pause._meta.get_field("waits_for").max_length,
    )
    pause_reason = forms.CharField(label="What for", required=False, max_length=1000)
    benchmark = BenchmarkField(
        required=False,
        empty_label="Choose a sealed benchmark",
        help_text="Its target becomes the contract's target.",
    )
    signatory = forms.ModelChoiceField(
        label="Signs for the customer from then on",
        queryset=User.objects.none(),
        required=False,
        empty_label="Any signatory",
    )

    def __init__(self, *args: Any, contract: ContractVersion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["fee"] = AmountField(
            currency=contract.currency,
            label=f"Whole fee in {contract.currency}, net",
            required=False,
            help_text="What is still pending takes the difference, in proportion.",
        )
        self.fields["weeks"].help_text = f"{contract.weeks} now, at most {MAX_WEEKS}."
        who = [user.pk for user in signatories_of(contract.engagement.customer)]
        offer_rows(self.fields["signatory"], User.objects.filter(pk__in=who))
        self.fields["signatory"].initial = contract.signatory_id
        self.fields["signatory"].help_text = _who_agrees(contract)

    def clean(self) -> dict[str, Any]:
        """What the chosen change needs is given."""
        values = super().clean() or {}
        for name in NEEDED.get(values.get("change", ""), ()):
            if values.get(name) in (None, "") and name not in self.errors:
                self.add_error(name, "This field is required.")
        return values

    @property
    def to(self) -> Change:
        """The change as the service takes it."""
        values = self.cleaned_data
        change = Amendment(values["change"])
        if change == Amendment.MORE_TIME:
            return {"weeks": values["weeks"]}
        if change == Amendment.PAUSE:
            return {
                "pause": PauseDraft(
                    starts_on=values["pause_from"],
                    ends_on=values["pause_until"],
                    waits_for=values["waits_for"],
                    reason=values["pause_reason"],
                )
            }
        if change == Amendment.BENCHMARK:
            return {"benchmark": values["benchmark"]}
        if change == Amendment.SIGNATORY:
            return {"signatory": values["signatory"]}
        return {"fee": values["fee"]}


def _who_agrees(contract: ContractVersion) -> str:
    """Who signs now, and so accepts that another does; and what to do where they cannot."""
    named = contract.signatory
    if named is None:
        return "Any signatory signs now, and accepts this."
    if not access.may_sign(named, contract.engagement.customer):
        return f"{named}, who signed, may sign no more: any signatory accepts this."
    return (
        f"{named} signs now, and accepts this. Where they cannot, their company has their right "
        "to sign taken away first: then any signatory accepts it."
    )
