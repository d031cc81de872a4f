"""Forms of the contract: terms, milestones, benchmark and acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms import BaseFormSet, BoundField, formset_factory

from benchmarks.records import documents
from engagements.audit.models import Audit
from engagements.common.amount_fields import PartField, Share
from engagements.common.choice_fields import Choice
from engagements.common.date_fields import DayField
from engagements.contracts import vat
from engagements.contracts.acceptances import CONSENT, exclusion_consent
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.fields import FIELDS
from engagements.contracts.milestones.conditions import CONDITIONS
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.signing_models import Acceptance
from engagements.people.models import User
from kernels import catalogue

MOST_MILESTONES = 12


class TermsForm(forms.Form):
    """The terms as declared in fields.FIELDS."""

    def __init__(self, *args: Any, audit: Audit, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in FIELDS:
            if each.form is not None:
                self.fields[each.name] = each.form(audit)

    @property
    def rows(self) -> list[list[BoundField]]:
        """The fields of money, time and measurement, as they lie side by side."""
        return self._rows(is_option=False)

    @property
    def option_rows(self) -> list[list[BoundField]]:
        """The options of the clauses, as they lie side by side."""
        return self._rows(is_option=True)

    def _rows(self, *, is_option: bool) -> list[list[BoundField]]:
        entered = [row for row in FIELDS if row.form is not None and row.is_option is is_option]
        rows = groupby(entered, key=lambda each: each.row or each.name)
        return [[self[each.name] for each in row] for _, row in rows]

    def clean(self) -> dict[str, Any]:
        """Without tax, set the rate to 0 and require the sentence for invoices."""
        values = super().clean() or {}
        if values.get("tax_treatment") == ContractVersion.TaxTreatment.RATE:
            values["tax_note"] = ""
            if values.get("tax_rate_percent") == 0:
                self.add_error("tax_rate_percent", vat.NO_REASON)
        elif "tax_treatment" in values:
            values["tax_rate_percent"] = Decimal(0)
            treatment = ContractVersion.TaxTreatment(values["tax_treatment"])
            values["tax_note"] = values.get("tax_note") or vat.SENTENCES.get(treatment, "")
            if not values["tax_note"]:
                self.add_error("tax_note", "Enter the sentence for invoices without tax.")
        if bool(values.get("excluded_library")) is not bool(values.get("exclusion_reason")):
            missing = "exclusion_reason" if values.get("excluded_library") else "excluded_library"
            self.add_error(missing, "Enter the excluded library and the reason.")
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
        """Require a day for a condition that needs one, and drop it otherwise."""
        values = super().clean() or {}
        condition = values.get("condition")
        if not condition or not CONDITIONS[ReleaseCondition(condition)].needs_day:
            values["due_on"] = None
        elif not values.get("due_on"):
            self.add_error("due_on", "Enter the day.")
        return values

    @property
    def draft(self) -> MilestoneDraft:
        """The milestone for the services."""
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
    absolute_max=MOST_MILESTONES,
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
    """A benchmark of the catalogue, to be sealed with the agreed target."""

    preset = forms.ChoiceField(label="From the catalogue", choices=preset_choices)
    target = forms.DecimalField(
        min_value=Decimal("1.01"),
        max_value=Decimal(100),
        max_digits=5,
        decimal_places=2,
        initial=Decimal(2),
        help_text="End-to-end speed over the baseline: 2 unless agreed otherwise.",
    )

    calibrated = forms.FileField(
        required=False,
        label="Calibrated benchmark",
        help_text="The preset’s benchmark, calibrated on the agreed machine. Acceptance runs "
        "require one.",
        widget=forms.FileInput(attrs={"accept": ".json"}),
    )

    def clean(self) -> dict[str, Any]:
        """Read the calibrated benchmark, which must be the chosen preset’s."""
        cleaned: dict[str, Any] = super().clean() or {}
        uploaded = cleaned.get("calibrated")
        if uploaded is None:
            if settings.TWOFOLD_REQUIRED_CALIBRATION:
                self.add_error("calibrated", ValidationError("Choose a file.", code="calibration"))
            return cleaned
        try:
            document = documents.load(uploaded.read(documents.MAX_BYTES + 1))
        except documents.InvalidBenchmark as error:
            self.add_error("calibrated", ValidationError(str(error), code="benchmark"))
            return cleaned
        if document["calibration"] is None:
            message = "Calibrate this benchmark first: twofold calibrate."
            self.add_error("calibrated", ValidationError(message, code="calibration"))
        elif document["name"] != cleaned.get("preset"):
            message = f"This is the benchmark {document['name']}. Choose its preset."
            self.add_error("calibrated", ValidationError(message, code="preset"))
        cleaned["document"] = document
        return cleaned

    @property
    def document(self) -> dict[str, Any]:
        """The benchmark document of these choices."""
        if "document" in self.cleaned_data:
            target = float(self.cleaned_data["target"])
            return {**self.cleaned_data["document"], "target": target}
        operator, _, preset = self.cleaned_data["preset"].partition("/")
        document = catalogue.benchmark_document(operator, preset)
        return {**document, "target": float(self.cleaned_data["target"])}


class AcceptForm(forms.Form):
    """Acceptance of exactly the terms whose digest was on the screen."""

    typed_name = forms.CharField(
        label="Your full name",
        max_length=Acceptance._meta.get_field("typed_name").max_length,
        help_text="As in your account. Your typed name is your signature.",
        error_messages={"required": "Enter your full name as your signature."},
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    # The digest that was shown; the service compares it with the sealed one.
    digest = forms.CharField(widget=forms.HiddenInput, max_length=71)


class AcceptContractForm(AcceptForm):
    """The customer's acceptance."""

    agreed = forms.BooleanField(
        label=CONSENT,
        error_messages={"required": "Tick the box to sign the contract."},
    )
    accepts_exclusion = forms.BooleanField(
        error_messages={"required": "Tick the box to sign the contract."},
    )
    field_order = ("typed_name", "agreed", "accepts_exclusion", "digest")

    def __init__(self, *args: Any, contract: ContractVersion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if sentence := exclusion_consent(contract):
            self.fields["accepts_exclusion"].label = sentence
        else:
            del self.fields["accepts_exclusion"]


class DelegateForm(forms.Form):
    """Another signatory of the customer, to sign in one's place."""

    delegate = forms.ModelChoiceField(
        label="Delegate to", queryset=User.objects.none(), empty_label="Choose a signatory"
    )

    def __init__(self, *args: Any, people: Sequence[User] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast(forms.ModelChoiceField, self.fields["delegate"])
        field.queryset = User.objects.filter(pk__in=[each.pk for each in people])


class CountersignForm(forms.Form):
    """The contract's PDF with the customer's signature."""

    file = forms.FileField(
        label="Signed PDF", widget=forms.FileInput(attrs={"accept": "application/pdf,.pdf"})
    )


class DeclineContractForm(forms.Form):
    """Decline an offer, with a reason."""

    reason = forms.CharField(
        label="Reason",
        max_length=2000,
        help_text="We read this and reply, with other terms where possible.",
        error_messages={"required": "Enter a reason, so that we know what to change."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )
