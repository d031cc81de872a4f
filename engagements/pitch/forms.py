"""Forms of the pitch check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.audit.rules.inputs import Needs, Operator
from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.errors import ApplicationError
from engagements.common.money import UnknownCurrency, minor_unit
from engagements.pitch.rules import Pitch, libraries_of, traffic_of
from kernels import catalogue, coverage

GPUS = {
    "sm80": "A100 (sm80)",
    "sm86": "A10, RTX 30 (sm86)",
    "sm89": "L40S, RTX 40 (sm89)",
    "sm90": "H100, H200 (sm90)",
    "sm100": "B200 (sm100)",
}
DTYPES = ("float32", "float16", "bfloat16", "float8", "int8", "int4", "float4")
LONGEST_LINES = 1200
_SIGN = re.compile(r"(?<=\d)\s*[%xX×]$")
# “1,234” is ambiguous: a thousand, or a decimal comma.
_DECIMAL_COMMA = re.compile(r"-?\d+,(\d{1,2}|\d{4})")
# A percentage up to this was probably meant as a fraction of 1.
_LEAST_LIKELY_PERCENT = 1


class TypedNumber(forms.DecimalField):
    """A decimal field that also accepts 86 %, 3x and 86,5."""

    default_error_messages = {"invalid": "Enter a number, such as 86.5."}

    def to_python(self, value: Any) -> Any:
        """Parse the number without a % or x suffix."""
        if isinstance(value, str):
            value = _SIGN.sub("", value.strip())
            if _DECIMAL_COMMA.fullmatch(value):
                value = value.replace(",", ".")
        return super().to_python(value)


def _number(label: str, low: str, high: str, help_text: str = "") -> TypedNumber:
    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    return TypedNumber(
        label=label,
        required=False,
        min_value=Decimal(low),
        max_value=Decimal(high),
        max_digits=12,
        decimal_places=4,
        help_text=help_text,
        widget=widget,
    )


def _amount(label: str, help_text: str = "") -> forms.CharField:
    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    return forms.CharField(
        label=label, required=False, max_length=24, help_text=help_text, widget=widget
    )


def _lines(label: str, help_text: str, placeholder: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 3, "placeholder": placeholder})
    return forms.CharField(
        label=label,
        required=False,
        max_length=LONGEST_LINES,
        help_text=help_text,
        widget=widget,
    )


def _choice(label: str, choices: Mapping[str, str], help_text: str = "") -> forms.ChoiceField:
    offered = [("", "Not stated"), *choices.items()]
    return forms.ChoiceField(label=label, required=False, choices=offered, help_text=help_text)


class PitchForm(forms.Form):
    """The numbers of a pitch. Every field is optional; an empty one is unknown.

    Field names are the parameters of the link.
    """

    share = _number(
        "Share of wall-clock time, %",
        "0",
        "100",
        "Of a step on your traffic, including GPU idle time.",
    )
    speedup = _number("Kernel speedup, times", "1", "1000", "The claim for the kernel alone.")
    whole = _number("End-to-end speedup, times", "1", "1000", "The claim for the step, if any.")
    roofline = _number(
        "Present kernel, % of roofline", "0.1", "100", "As reported by Nsight Compute."
    )
    weeks = _number("Weeks of work", "0.1", "260")
    life = _number("Model lifetime, weeks", "0", "1040", "From today until its replacement.")
    fee = _amount("Fee, net")
    bill = _amount("GPU bill per month, net", "For this workload.")
    currency = forms.CharField(required=False, max_length=3, help_text="Such as EUR.")
    hours = _number("Maintenance hours per month", "0", "744", "0 if nobody maintains it.")
    maintainer = forms.CharField(
        required=False, max_length=80, label="Maintainer", help_text="A person or team."
    )
    definition = _choice(
        "Operator", {name: catalogue.definition(name).title for name in catalogue.operators()}
    )
    gpu = _choice("GPU", GPUS)
    dtype = _choice("Number format", {name: name for name in DTYPES})
    features = forms.MultipleChoiceField(
        label="Required features",
        required=False,
        choices=[(name, name.replace("_", " ")) for name in coverage.FEATURES],
        widget=forms.CheckboxSelectMultiple,
    )
    libraries = _lines(
        "Libraries tried",
        "One per line, with missing features after a colon.",
        "FlashInfer: skip connections",
    )
    shapes = _lines("Shapes and calls", "One per line, with its number of calls.", "8x4096 12000")
    operator = forms.CharField(required=False, max_length=120, widget=forms.HiddenInput)
    read = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    def clean_currency(self) -> str:
        """Return the currency code in capitals."""
        code = str(self.cleaned_data["currency"]).upper()
        try:
            if code:
                minor_unit(code)
        except UnknownCurrency as error:
            raise ValidationError(str(error)) from error
        return code

    def clean_libraries(self) -> Any:
        """Parse the libraries with their missing features."""
        try:
            return libraries_of(self.cleaned_data["libraries"])
        except ApplicationError as error:
            raise ValidationError(error.message, code=error.code) from error

    def clean_shapes(self) -> Any:
        """Parse the shapes into traffic facts."""
        try:
            return traffic_of(self.cleaned_data["shapes"])
        except ApplicationError as error:
            raise ValidationError(error.message, code=error.code) from error

    def clean_operator(self) -> Operator | None:
        """Parse an operator key of a profile, such as family:attention."""
        return Operator.from_key(str(self.cleaned_data["operator"]))

    def clean(self) -> dict[str, Any]:
        """Parse amounts in their currency and require the fields that depend on each other."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name in ("fee", "bill"):
            text = cleaned.get(name)
            if not text or "currency" not in cleaned:
                cleaned[name] = None
            elif not cleaned["currency"]:
                self.add_error("currency", "Enter the currency of the amounts, such as EUR.")
            else:
                cleaned[name] = self._amount(name, text, cleaned["currency"])
        if cleaned.get("fee") is not None and cleaned.get("weeks") is None:
            self._ask("weeks", "Enter the weeks of work that the fee covers.")
        if not cleaned.get("definition") and any(
            cleaned.get(name) for name in ("gpu", "dtype", "features")
        ):
            self._ask("definition", "Choose the operator that has these requirements.")
        return cleaned

    def _amount(self, name: str, text: str, currency: str) -> Decimal | None:
        try:
            return parse_amount(text, currency=currency)
        except AmountError as error:
            self.add_error(name, str(error))
            return None

    def _ask(self, name: str, what: str) -> None:
        if name not in self.errors:
            self.add_error(name, what)

    def pitch(self) -> Pitch:
        """Build the pitch from a valid form."""
        said = self.cleaned_data
        needs = None
        if said["definition"]:
            needs = Needs(
                definition=said["definition"],
                dtype=said["dtype"] or None,
                architecture=said["gpu"] or None,
                features=tuple(said["features"]),
            )
        return Pitch(
            share=_share(said["share"]),
            kernel_speedup=_float(said["speedup"]),
            end_to_end=_float(said["whole"]),
            roofline_share=_share(said["roofline"]),
            weeks=_float(said["weeks"]),
            fee=said["fee"],
            bill_a_month=said["bill"],
            currency=said["currency"] or None,
            life_weeks=_float(said["life"]),
            upkeep_hours=_float(said["hours"]),
            maintainer=said["maintainer"].strip(),
            needs=needs,
            tried=said["libraries"],
            traffic=said["shapes"],
            operator=said["operator"],
        )

    def doubts(self) -> list[str]:
        """Return warnings about probable typing errors in a valid form."""
        read = (("share", self.cleaned_data["share"]), ("roofline", self.cleaned_data["roofline"]))
        return [
            f"The {what} was read as {number:f}%. "
            f"If you meant a fraction, enter {float(number * 100):g}."
            for what, number in read
            if number is not None and 0 < number <= _LEAST_LIKELY_PERCENT
        ]

    def query(self) -> list[tuple[str, str]]:
        """Return the non-empty fields, in order, as parameters of the link."""
        pairs = []
        for bound in self:
            value = bound.value()
            values = value if isinstance(value, list | tuple) else [value]
            pairs += [(bound.name, str(each).strip()) for each in values if each]
        return [(name, text) for name, text in pairs if text]


def _float(number: Decimal | None) -> float | None:
    return None if number is None else float(number)


def _share(percent: Decimal | None) -> float | None:
    return None if percent is None else float(percent / 100)


class PitchFileForm(forms.Form):
    """A profile or traffic log that is read and then deleted."""

    file = forms.FileField(
        required=False,
        label="Profile or traffic log",
        help_text="PyTorch profiler trace (.json or .json.gz), Nsight Systems (SQLite), Nsight "
        "Compute (CSV), or shape traffic (CSV, Parquet, JSON lines). At most 64 MiB.",
    )
