"""The contract: its terms with milestones, the benchmark it seals, and the house's acceptance."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.forms import BaseFormSet, formset_factory

from engagements.common.amount_fields import AmountField, PartField, Share
from engagements.common.choice_fields import BenchmarkField, Choice, offer_rows
from engagements.common.date_fields import DayField
from engagements.contracts.clauses.models import Clause
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import (
    MAX_DISPUTE_DAYS,
    MAX_PAYMENT_DAYS,
    MAX_REFUND_DAYS,
    MAX_WEEKS,
    MIN_WEEKS,
    Acceptance,
    ContractVersion,
)
from engagements.people.models import Customer, User
from engagements.people.signatories import signatories_of
from kernels import catalogue

MOST_MILESTONES = 12


class TermsForm(forms.Form):
    """The terms but for the milestones. Amounts are net, in the audit's currency."""

    benchmark = BenchmarkField(
        empty_label="Choose a sealed benchmark",
        help_text="Its target is the contract's target.",
    )
    tax_rate_percent = forms.DecimalField(
        label="Tax rate, percent",
        min_value=Decimal(0),
        max_value=Decimal("99.99"),
        max_digits=5,
        decimal_places=2,
        help_text="Added to the fee and to the audit cost.",
    )
    tax_treatment = forms.ChoiceField(
        label="Tax",
        choices=ContractVersion.TaxTreatment,
        initial=ContractVersion.TaxTreatment.RATE,
    )
    tax_note = forms.CharField(
        label="Sentence on the invoice",
        max_length=500,
        required=False,
        help_text="Needed where no tax is added, as in: Steuerschuldnerschaft des "
        "Leistungsempfängers (reverse charge).",
    )
    payment_days = forms.IntegerField(
        label="Days to pay",
        min_value=0,
        max_value=MAX_PAYMENT_DAYS,
        help_text="From the day of the invoice.",
    )
    dispute_days = forms.IntegerField(
        label="Days to dispute",
        min_value=0,
        max_value=MAX_DISPUTE_DAYS,
        help_text="Of a settlement, once shown; after the time-box it waits as long.",
    )
    refund_days = forms.IntegerField(
        label="Days to refund",
        min_value=1,
        max_value=MAX_REFUND_DAYS,
        help_text="From the day on which a settlement is proposed.",
    )
    valid_until = DayField(
        label="Valid until", required=False, help_text="The last day on which it may be accepted."
    )
    signatory = forms.ModelChoiceField(
        label="Signs for the customer",
        queryset=User.objects.none(),
        required=False,
        empty_label="Any signatory",
    )
    governed_by = forms.ModelMultipleChoiceField(
        label="Governing texts",
        queryset=Clause.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    weeks = forms.IntegerField(
        min_value=MIN_WEEKS,
        max_value=MAX_WEEKS,
        help_text=f"The time-box: {MIN_WEEKS} to {MAX_WEEKS} weeks.",
    )
    starts_on = DayField(label="Starts on")
    inconclusive = forms.ChoiceField(
        label="An inconclusive run",
        choices=ContractVersion.Inconclusive,
        widget=forms.RadioSelect,
    )
    field_order = ("benchmark", "fee", "audit_cost")

    def __init__(
        self, *args: Any, currency: str, customer: Customer, offered: list[Clause], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["fee"] = AmountField(
            currency=currency,
            label=f"Fee in {currency}, net",
            help_text="The whole fixed fee, the audit in it.",
        )
        self.fields["audit_cost"] = AmountField(
            currency=currency,
            label=f"Audit cost in {currency}, net",
            help_text="Kept if the target is missed.",
        )
        who = [user.pk for user in signatories_of(customer)]
        offer_rows(self.fields["signatory"], User.objects.filter(pk__in=who))
        texts = Clause.objects.filter(pk__in=[clause.pk for clause in offered])
        offer_rows(self.fields["governed_by"], texts)
        self.order_fields(self.field_order)

    def clean(self) -> dict[str, Any]:
        """No tax is added where none is owed, and then the invoice says why."""
        values = super().clean() or {}
        if values.get("tax_treatment") == ContractVersion.TaxTreatment.RATE:
            values["tax_note"] = ""
        elif "tax_treatment" in values:
            values["tax_rate_percent"] = Decimal(0)
            if not values.get("tax_note"):
                self.add_error("tax_note", "Say which sentence the invoice needs.")
        return values


class MilestoneForm(forms.Form):
    """A part of the fee."""

    title = forms.CharField(
        max_length=Milestone._meta.get_field("title").max_length,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    condition = forms.ChoiceField(label="Released when", choices=ReleaseCondition)
    due_on = DayField(label="On", required=False)

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"] = PartField(currency=currency, label=f"{currency} net, or %")
        self.order_fields(("title", "amount", "condition", "due_on"))

    def clean(self) -> dict[str, Any]:
        """A day belongs to the condition that waits for one, and to no other."""
        values = super().clean() or {}
        if values.get("condition") != ReleaseCondition.DATE:
            values["due_on"] = None
        elif not values.get("due_on"):
            self.add_error("due_on", "Say which day.")
        return values

    @property
    def draft(self) -> MilestoneDraft:
        """The milestone as the service takes it."""
        part, rest = self.cleaned_data["amount"], dict(self.cleaned_data)
        is_share = isinstance(part, Share)
        rest["amount"] = None if is_share else part
        return MilestoneDraft(**rest, share=part.percent if is_share else None)


MilestoneFormSet: type[BaseFormSet[MilestoneForm]] = formset_factory(
    MilestoneForm,
    extra=0,
    min_num=1,
    validate_min=True,
    max_num=MOST_MILESTONES,
    validate_max=True,
)


def preset_choices() -> list[Choice]:
    """Every preset of the catalogue, by operator."""
    return [
        (
            catalogue.definition(operator).title,
            [
                (f"{operator}/{name}", preset.title)
                for name, preset in catalogue.presets(operator).items()
            ],
        )
        for operator in catalogue.operators()
    ]


class SealBenchmarkForm(forms.Form):
    """A benchmark of the catalogue, to be sealed with the target that was agreed."""

    preset = forms.ChoiceField(label="From the catalogue", choices=preset_choices)
    target = forms.DecimalField(
        min_value=Decimal("1.01"),
        max_value=Decimal(100),
        max_digits=5,
        decimal_places=2,
        initial=Decimal(2),
        help_text="End-to-end speed over the baseline: 2 unless agreed otherwise.",
    )

    @property
    def document(self) -> dict[str, Any]:
        """The benchmark document that these choices make."""
        operator, _, preset = self.cleaned_data["preset"].partition("/")
        document = catalogue.benchmark_document(operator, preset)
        return {**document, "target": float(self.cleaned_data["target"])}


class AcceptForm(forms.Form):
    """The consultancy's acceptance of exactly the terms whose digest was on the screen."""

    typed_name = forms.CharField(
        label="Your full name",
        max_length=Acceptance._meta.get_field("typed_name").max_length,
        help_text="Typing your name is the consultancy's signature.",
        error_messages={"required": "Type your full name: it is the signature."},
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    digest = forms.CharField(widget=forms.HiddenInput, max_length=71)
