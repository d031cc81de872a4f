"""Form of an amendment."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from benchmarks.models import Benchmark
from engagements import access
from engagements.benchmark.queries import benchmarks_for
from engagements.common.amount_fields import AmountField
from engagements.common.choice_fields import BenchmarkField, offer_rows
from engagements.common.date_fields import DayField
from engagements.contracts.amendments import ARGUMENT, Change
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
    """One change of the contract in force. Fields of other changes are ignored."""

    change = forms.ChoiceField(
        label="What changes", choices=Amendment, widget=forms.RadioSelect, initial="more_time"
    )
    reason = forms.CharField(
        label="Why",
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Both parties read it in the amendment.",
    )
    valid_until = DayField(label="Valid until", required=False)
    weeks = forms.IntegerField(label="Weeks in all", required=False, max_value=MAX_WEEKS)
    pause_from = DayField(
        label="From",
        required=False,
        help_text="Enter the first day of an agreed pause to change its end.",
    )
    pause_until = DayField(label="Until", required=False, help_text="Both days included.")
    waits_for = forms.CharField(
        label="Waiting for",
        required=False,
        max_length=Pause._meta.get_field("waits_for").max_length,
    )
    pause_reason = forms.CharField(label="Reason for the pause", required=False, max_length=1000)
    benchmark = BenchmarkField(
        Benchmark.objects.none(),
        required=False,
        empty_label="Choose a sealed benchmark",
        help_text="Its target becomes the contract's target.",
    )
    signatory = forms.ModelChoiceField(
        label="New signatory of the customer",
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
            help_text="Pending milestones share the difference in proportion.",
        )
        self.fields["weeks"].help_text = f"{contract.weeks} now, at most {MAX_WEEKS}."
        own = benchmarks_for(contract.engagement).defer("canonical")
        offer_rows(self.fields["benchmark"], own)
        who = [user.pk for user in signatories_of(contract.engagement.customer)]
        offer_rows(self.fields["signatory"], User.objects.filter(pk__in=who))
        self.fields["signatory"].initial = contract.signatory_id
        self.fields["signatory"].help_text = _accepted_by(contract)

    def clean(self) -> dict[str, Any]:
        """Require the fields of the chosen change."""
        values = super().clean() or {}
        for name in NEEDED.get(values.get("change", ""), ()):
            if values.get(name) in (None, "") and name not in self.errors:
                self.add_error(name, "This field is required.")
        return values

    @property
    def to(self) -> Change:
        """The change for the service."""
        values = self.cleaned_data
        name = ARGUMENT[Amendment(values["change"])]
        if name != "pause":
            return cast(Change, {name: values[name]})
        return {
            "pause": PauseDraft(
                starts_on=values["pause_from"],
                ends_on=values["pause_until"],
                waits_for=values["waits_for"],
                reason=values["pause_reason"],
            )
        }


def _accepted_by(contract: ContractVersion) -> str:
    """Who accepts an amendment of the signatory."""
    named = contract.signatory
    if named is None:
        return "Any signatory may accept this amendment."
    if not access.may_sign(named, contract.engagement.customer):
        return f"{named} may no longer sign; any signatory may accept this amendment."
    return (
        f"{named} has to accept this amendment. If they cannot, withdraw their right to sign "
        "first; then any signatory may accept it."
    )
