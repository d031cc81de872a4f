"""Forms of the workbench: the operator, its needs, the work, and the thresholds."""

from __future__ import annotations

from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from engagements.audit.rules import Interval, Needs, Operator, Thresholds, Tried, Work
from engagements.audit.rules import thresholds as lines
from engagements.audit.rules.subject import Subject
from engagements.audit.rules.suggestions import needs_of
from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.errors import ApplicationError
from engagements.common.money import UnknownCurrency, minor_unit
from engagements.common.row_fields import Cell, RowsField
from engagements.contracts.models import MAX_WEEKS, MIN_WEEKS
from engagements.evidence.readers import TraceFacts, patterns
from engagements.pitch.forms import DTYPES, GPUS
from kernels import catalogue, coverage

LONGEST = 2000
NUMBER = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})


class OperatorForm(forms.Form):
    """The kernels under audit: one of the groups offered, or a pattern of one's own."""

    choice = forms.CharField(max_length=LONGEST, required=False)
    pattern = forms.CharField(
        max_length=patterns.LONGEST,
        required=False,
        label="Pattern of kernel names",
        help_text="A regular expression (RE2), as in sdpa|flash. Replaces the choice above.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_pattern(self) -> str:
        """Validate the regular expression."""
        pattern = str(self.cleaned_data["pattern"])
        try:
            if pattern:
                patterns.validate(pattern)
        except ApplicationError as error:
            raise ValidationError(error.message, code=error.code) from error
        return pattern

    def clean(self) -> dict[str, Any]:
        """Combine the choices; None lets the trace decide."""
        cleaned: dict[str, Any] = super().clean() or {}
        if pattern := cleaned.get("pattern"):
            cleaned["operator"] = Operator(kind="pattern", name=pattern, pattern=pattern)
            return cleaned
        choice = cleaned.get("choice", "")
        cleaned["operator"] = Operator.from_key(choice)
        if choice and cleaned["operator"] is None:
            raise ValidationError("Choose one of the groups of the profile.")
        return cleaned


class TrafficForm(forms.Form):
    """The digest of the traffic log to use; empty for the newest."""

    log = forms.CharField(max_length=71, required=False)


class NeedsForm(forms.Form):
    """The needs of the operator, for the check of off-the-shelf kernels."""

    definition = forms.CharField(
        max_length=120,
        label="Operator",
        help_text="One of the catalogue, or a name of its own.",
        widget=forms.TextInput(attrs={"list": "definitions", "autocomplete": "off"}),
    )
    dtype = forms.ChoiceField(
        required=False, choices=[("", "Not said"), *((name, name) for name in DTYPES)]
    )
    architecture = forms.ChoiceField(
        required=False, label="GPU", choices=[("", "Not said"), *GPUS.items()]
    )
    device = forms.CharField(
        required=False,
        max_length=80,
        label="GPU by name",
        help_text="As in NVIDIA H200, where no profile tells.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    features = forms.MultipleChoiceField(
        required=False,
        choices=[(name, name.replace("_", " ").capitalize()) for name in coverage.FEATURES],
        widget=forms.CheckboxSelectMultiple,
    )
    axes = RowsField(
        Cell(name="name", label="Axis", placeholder="batch"),
        Cell(name="size", label="Size", kind="whole", placeholder="16"),
        help_text="The most frequent sizes.",
    )

    # Options of the datalist; a plain function would be bound as a method.
    definitions = staticmethod(catalogue.operators)

    def clean_axes(self) -> dict[str, int]:
        """Return the sizes by axis."""
        return {row["name"]: row["size"] for row in self.cleaned_data["axes"]}

    def clean(self) -> dict[str, Any]:
        """The needs as the checks take them."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            cleaned["needs"] = Needs(
                definition=cleaned["definition"],
                dtype=cleaned["dtype"] or None,
                architecture=cleaned["architecture"] or None,
                features=tuple(cleaned["features"]),
                axes=cleaned["axes"],
                device=cleaned["device"] or None,
            )
        return cleaned


class WorkForm(forms.Form):
    """The effort that the kernel would take."""

    weeks = forms.FloatField(min_value=MIN_WEEKS, max_value=MAX_WEEKS, widget=NUMBER)
    fee = forms.CharField(required=False, max_length=40, label="Fee, net", widget=NUMBER)
    currency = forms.CharField(required=False, min_length=3, max_length=3)

    def clean_currency(self) -> str:
        """The code in capitals, once it names a currency."""
        code = str(self.cleaned_data["currency"]).upper()
        try:
            minor_unit(code or "EUR")
        except UnknownCurrency as error:
            raise ValidationError(str(error)) from error
        return code

    def clean(self) -> dict[str, Any]:
        """The work as the checks take it."""
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        fee: Decimal | None = None
        if cleaned["fee"]:
            if not cleaned["currency"]:
                raise ValidationError("Enter the currency of the fee.")
            try:
                fee = parse_amount(cleaned["fee"], currency=cleaned["currency"])
            except AmountError as error:
                raise ValidationError(str(error)) from error
        currency = cleaned["currency"] if fee is not None else None
        cleaned["work"] = Work(weeks=cleaned["weeks"], fee=fee, currency=currency)
        return cleaned


def _ratio(label: str) -> forms.FloatField:
    return forms.FloatField(
        required=False, min_value=0.01, max_value=10_000, label=label, widget=NUMBER
    )


class EstimatesForm(forms.Form):
    """Numbers that no evidence gives; whatever is measured leads."""

    share_percent = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=100,
        label="Share of the wall-clock time, percent",
        widget=NUMBER,
    )
    kernel_low = _ratio("The kernel becomes faster by, at least")
    kernel_high = _ratio("at most")
    whole_low = _ratio("The whole becomes faster by, at least")
    whole_high = _ratio("at most")

    def clean(self) -> dict[str, Any]:
        """Shares as fractions, ratios as intervals."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            percent = cleaned["share_percent"]
            cleaned["share"] = None if percent is None else percent / 100
            cleaned["kernel_speedup"] = _interval(cleaned, "kernel")
            cleaned["end_to_end"] = _interval(cleaned, "whole")
        return cleaned


class TriedForm(forms.Form):
    """A library tried against the needs."""

    library = forms.CharField(max_length=120)
    lacks = RowsField(
        Cell(name="feature", label="Feature", placeholder="paged FP8 cache"),
        label="What it lacks",
        help_text="Leave empty when it fits.",
    )
    ours_low = _ratio("A custom kernel was faster by, at least")
    ours_high = _ratio("at most")

    def clean(self) -> dict[str, Any]:
        """The trial as input of the checks."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            cleaned["tried"] = Tried(
                library=cleaned["library"],
                lacks=tuple(row["feature"] for row in cleaned["lacks"]),
                ratio=_interval(cleaned, "ours"),
            )
        return cleaned


class ThresholdsForm(forms.Form):
    """Every threshold of the checks, shares in percent; an empty one keeps its default."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for line in fields(Thresholds):
            usual = getattr(lines.DEFAULT, line.name)
            self.fields[line.name] = (
                forms.IntegerField if isinstance(usual, int) else forms.FloatField
            )(
                required=False,
                label=lines.label_of(line.name) + (", %" if line.name in lines.SHARES else ""),
                help_text=lines.MEANINGS[line.name],
                widget=forms.TextInput(
                    attrs={
                        "inputmode": "decimal",
                        "placeholder": lines.shown(line.name, usual).removesuffix("%"),
                        "size": 8,
                    }
                ),
            )

    def clean(self) -> dict[str, Any]:
        """Return the changed thresholds, shares as fractions."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            changes = {
                name: value / 100 if name in lines.SHARES else value
                for name, value in cleaned.items()
                if value is not None
            }
            try:
                lines.from_data(changes)
            except ValueError as error:
                raise ValidationError(str(error)) from error
            cleaned["changes"] = changes
        return cleaned


def _interval(cleaned: dict[str, Any], name: str) -> Interval | None:
    """An interval of two fields; where one alone is given it is both ends."""
    low, high = cleaned[f"{name}_low"], cleaned[f"{name}_high"]
    if low is None and high is None:
        return None
    low, high = (high if low is None else low), (low if high is None else high)
    if low > high:
        raise ValidationError("Enter the lower ratio first.")
    return Interval(low=low, high=high)


def initial_of(
    subject: Subject, thresholds: dict[str, Any], trace: TraceFacts | None = None
) -> dict[str, dict[str, Any]]:
    """Return the initial data of every form: the present values, GPU and dtype of the profile."""
    needs, work = subject.needs, subject.work
    operator = subject.operator
    is_pattern = operator is not None and operator.kind == "pattern"
    estimates = {
        "share_percent": None if subject.share is None else round(subject.share * 100, 4),
        **_ends("kernel", subject.kernel_speedup),
        **_ends("whole", subject.end_to_end),
    }
    return {
        "operator": {"pattern": operator.pattern if operator and is_pattern else ""},
        "traffic": {},
        "needs": asdict(needs) | {"axes": _axes(needs)} if needs else needs_of(trace),
        "work": asdict(work) if work else {},
        "estimates": estimates,
        "tried": {},
        "thresholds": {
            name: round(value * 100, 4) if name in lines.SHARES else value
            for name, value in thresholds.items()
        },
    }


def _ends(name: str, found: Interval | None) -> dict[str, float | None]:
    low, high = (found.low, found.high) if found else (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _axes(needs: Needs) -> list[dict[str, Any]]:
    return [{"name": name, "size": size} for name, size in needs.axes.items()]


FORMS: dict[str, type[forms.Form]] = {
    "operator": OperatorForm,
    "traffic": TrafficForm,
    "needs": NeedsForm,
    "work": WorkForm,
    "estimates": EstimatesForm,
    "tried": TriedForm,
    "thresholds": ThresholdsForm,
}
