"""A kernel pitch in numbers, and the files that come with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.audit.rules.inputs import Needs, Operator
from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.money import UnknownCurrency, minor_unit
from engagements.pitch.rules import Pitch, PitchError, libraries_of, traffic_of
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
# “1,234” may be a thousand and more, so it is asked about.
_DECIMAL_COMMA = re.compile(r"-?\d+,(\d{1,2}|\d{4})")
# Who means a fraction of 1 has typed one.
_LEAST_LIKELY_PERCENT = 1


class TypedNumber(forms.DecimalField):
    """A number as people type one: also 86 %, 3x, and 86,5."""

    default_error_messages = {"invalid": "This is no number. Write it as in 86.5."}

    def to_python(self, value: Any) -> Any:
        """The number without its sign of percent or times."""
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
    offered = [("", "Not said"), *choices.items()]
    return forms.ChoiceField(label=label, required=False, choices=offered, help_text=help_text)


class PitchForm(forms.Form):
    """The numbers of a pitch; everything may be left out, and is unknown then.

    The names are those of the link's query.
    """

    share = _number(
        "Share of wall-clock time, %",
        "0",
        "100",
        "Of a step on your traffic, the GPU's idle time counted.",
    )
    speedup = _number("Kernel speedup, times", "1", "1000", "Of the kernel alone, as claimed.")
    whole = _number("End-to-end speedup, times", "1", "1000", "If one is claimed, too.")
    roofline = _number(
        "Today's kernel at, % of its roofline", "0.1", "100", "As Nsight Compute says."
    )
    weeks = _number("Weeks of work", "0.1", "260")
    life = _number("Weeks the model stays", "0", "1040", "From today until it is replaced.")
    fee = _amount("Fee, net")
    bill = _amount("GPU bill a month, net", "Of this workload.")
    currency = forms.CharField(required=False, max_length=3, help_text="As in EUR.")
    hours = _number("Hours a month for its upkeep", "0", "744", "0 when nobody has any.")
    maintainer = forms.CharField(
        required=False, max_length=80, label="Who maintains it", help_text="A team will do."
    )
    definition = _choice(
        "Operator", {name: name.replace("_", " ").capitalize() for name in catalogue.operators()}
    )
    gpu = _choice("GPU", GPUS)
    dtype = _choice("Number format", {name: name for name in DTYPES})
    features = forms.MultipleChoiceField(
        label="It needs",
        required=False,
        choices=[(name, name.replace("_", " ")) for name in coverage.FEATURES],
        widget=forms.CheckboxSelectMultiple,
    )
    libraries = _lines(
        "Libraries that were tried",
        "One a line; after a colon what it lacks. Without one it fits.",
        "FlashInfer: skip connections",
    )
    shapes = _lines(
        "Shapes and their calls", "One a line, with how often it is called.", "8x4096 12000"
    )
    operator = forms.CharField(required=False, max_length=120, widget=forms.HiddenInput)
    read = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    def clean_currency(self) -> str:
        """The code in capitals, once it names a currency."""
        code = str(self.cleaned_data["currency"]).upper()
        try:
            if code:
                minor_unit(code)
        except UnknownCurrency as error:
            raise ValidationError(str(error)) from error
        return code

    def clean_libraries(self) -> Any:
        """Each line as a library with what it lacks."""
        try:
            return libraries_of(self.cleaned_data["libraries"])
        except PitchError as error:
            raise ValidationError(str(error)) from error

    def clean_shapes(self) -> Any:
        """The shapes as facts about the traffic."""
        try:
            return traffic_of(self.cleaned_data["shapes"])
        except PitchError as error:
            raise ValidationError(str(error)) from error

    def clean_operator(self) -> Operator | None:
        """One of the operators that a profile shows, as in family:attention."""
        return Operator.from_key(str(self.cleaned_data["operator"]))

    def clean(self) -> dict[str, Any]:
        """Read the amounts in their currency, and see that what belongs together is there."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name in ("fee", "bill"):
            text = cleaned.get(name)
            if not text or "currency" not in cleaned:
                cleaned[name] = None
            elif not cleaned["currency"]:
                self.add_error("currency", "An amount has a currency: EUR, say.")
            else:
                cleaned[name] = self._amount(name, text, cleaned["currency"])
        if cleaned.get("fee") is not None and cleaned.get("weeks") is None:
            self._ask("weeks", "A fee is for some weeks of work: how many?")
        if not cleaned.get("definition") and any(
            cleaned.get(name) for name in ("gpu", "dtype", "features")
        ):
            self._ask("definition", "What is needed is needed of an operator: which?")
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
        """What a valid form says."""
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
        """What was probably meant otherwise, a sentence each, of a valid form."""
        read = (("share", self.cleaned_data["share"]), ("roofline", self.cleaned_data["roofline"]))
        return [
            f"The {what} was read as {number:f}%. "
            f"Is it a fraction? Then type {float(number * 100):g}."
            for what, number in read
            if number is not None and 0 < number <= _LEAST_LIKELY_PERCENT
        ]

    def query(self) -> list[tuple[str, str]]:
        """What was typed, as the link says it: every field that says something, in order."""
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
    """A profile or a traffic log that is read and forgotten."""

    file = forms.FileField(
        required=False,
        label="A profile or a traffic log",
        help_text="PyTorch profiler trace (.json or .json.gz), Nsight Systems (SQLite), Nsight "
        "Compute (CSV), or shape traffic (CSV, Parquet, JSON lines). At most 64 MiB.",
    )
