"""Evidence as it is sent: files, and answers for what no file tells."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.money import UnknownCurrency, minor_unit
from engagements.evidence.models import Answer
from engagements.evidence.readers import questions as values

Question = Answer.Question
MOST_FILES = 20
# Digits of an axis' size.
LONGEST_SIZE = 12


class FilesInput(forms.ClearableFileInput):
    """Chooses several files at once."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files; the cleaned value is a list, without the empty ones among others."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        """Each file checked as a single one would be."""
        files = data if isinstance(data, list | tuple) and data else [data or None]
        if len(files) > MOST_FILES:
            raise ValidationError(f"At most {MOST_FILES} files at once.")
        full = [each for each in files if each is None or each.size] or files[:1]
        return [super(FilesField, self).clean(each, initial) for each in full]


class FilesForm(forms.Form):
    """Profiles and traffic logs to be kept."""

    chosen = FilesField(
        label="Files",
        help_text="PyTorch profiler traces (.json, .json.gz), Nsight Systems exports (SQLite), "
        "Nsight Compute exports (CSV, either page), shape traffic (CSV, Parquet, JSON lines). "
        "What a file is, is told by its content.",
    )

    def left_out(self) -> list[str]:
        """The names of the empty files among others."""
        kept = {id(file) for file in self.cleaned_data["chosen"]}
        return [str(file.name) for file in self.files.getlist("chosen") if id(file) not in kept]


class AnswerForm(forms.Form):
    """One question: its fields, whose word the answer is, and of which day."""

    question: str

    answered_by = forms.CharField(
        max_length=160, label="Whose word it is", help_text="A person of the customer, as a rule."
    )
    answered_on = forms.DateField(
        label="On",
        initial=timezone.localdate,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    note = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    field_order = ("entries", "percentile", "target_ms", "measured_ms", "amount", "currency")

    def clean(self) -> dict[str, Any]:
        """Check the answer as a whole."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                cleaned["value"] = values.as_data(values.parse(self.question, self.value(cleaned)))
            except values.AnswerError as error:
                raise ValidationError(str(error)) from error
        return cleaned

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The answer as data, of fields that are valid each by itself: its own as they are."""
        return {name: cleaned[name] for name in self.fields if name not in AnswerForm.base_fields}


def _entries(label: str, help_text: str, placeholder: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 3, "placeholder": placeholder})
    return forms.CharField(
        label=label, help_text=help_text, required=False, max_length=10_000, widget=widget
    )


def _split(text: str) -> list[tuple[int, str, str]]:
    """The lines that say something: number, first word, rest."""
    lines = enumerate((line.strip() for line in text.splitlines()), start=1)
    return [(number, *line.partition(" ")[::2]) for number, line in lines if line]


def _date(word: str, line: int) -> str:
    try:
        return dt.date.fromisoformat(word).isoformat()
    except ValueError as error:
        raise values.AnswerError(
            f"Line {line} begins with no date, as in 2027-03-31 Llama 5."
        ) from error


def _axes(text: str, line: int) -> dict[str, int]:
    """Axes with their sizes, a comma between two."""
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, size = re.sub(r"[=:]", " ", part).partition(" ")
        if not size.strip().isdecimal() or len(size.strip()) > LONGEST_SIZE:
            raise values.AnswerError(
                f"Line {line}: “{part}” is no axis with its size, as in head_dim 256."
            )
        found[name] = int(size)
    return found


class RoadmapForm(AnswerForm):
    """The models that come next."""

    question = Question.ROADMAP
    entries = _entries(
        "Models to come",
        "A date and a name a line, then the axes of the operator that change with it; empty when "
        "no change is planned.",
        "2027-03-31 Llama 5; head_dim 256, heads 64",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """A model a line."""
        models = []
        for line, word, rest in _split(cleaned["entries"]):
            name, _, axes = rest.partition(";")
            models.append(
                {
                    "expected_on": _date(word, line),
                    "name": name.strip(),
                    "axes": _axes(axes, line),
                }
            )
        return {"models": models}


class MaintainersForm(AnswerForm):
    """Who will maintain the kernel."""

    question = Question.MAINTAINERS
    entries = _entries(
        "People",
        "Hours a month and a name a line; empty when there is nobody.",
        "12 Performance team",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """A person a line."""
        people = []
        for line, word, rest in _split(cleaned["entries"]):
            try:
                hours = float(word.replace(",", "."))
            except ValueError as error:
                raise values.AnswerError(
                    f"Line {line} begins with no number of hours, as in 12 Performance team."
                ) from error
            people.append({"hours_a_month": hours, "name": rest.strip()})
        return {"people": people}


class GenerationsForm(AnswerForm):
    """The GPUs that the kernel has to run on."""

    question = Question.GPU_GENERATIONS
    entries = _entries(
        "GPUs",
        "A date and a name a line, or only a name for what is in use already.",
        "H200\n2027-01-01 B200",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """A generation a line."""
        generations = []
        for line, word, rest in _split(cleaned["entries"]):
            dated = word[:2].isdigit() and "-" in word
            planned_on = _date(word, line) if dated else None
            name = rest.strip() if dated else f"{word} {rest}".strip()
            generations.append({"name": name, "planned_on": planned_on})
        return {"generations": generations}


class TailLatencyForm(AnswerForm):
    """A target for slow requests, all empty when there is none."""

    question = Question.TAIL_LATENCY
    percentile = forms.FloatField(required=False, help_text="As in 99.")
    target_ms = forms.FloatField(required=False, label="Target, ms")
    measured_ms = forms.FloatField(required=False, label="Measured today, ms")


class GpuBillForm(AnswerForm):
    """What the workload's GPU time costs."""

    question = Question.GPU_BILL
    amount = forms.CharField(
        label="A month, net",
        max_length=40,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    currency = forms.CharField(min_length=3, max_length=3)

    def clean_currency(self) -> str:
        """The code in capitals, once it names a currency."""
        code = str(self.cleaned_data["currency"]).upper()
        try:
            minor_unit(code)
        except UnknownCurrency as error:
            raise ValidationError(str(error)) from error
        return code

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The bill."""
        try:
            amount = parse_amount(cleaned["amount"], currency=cleaned["currency"])
        except AmountError as error:
            raise values.AnswerError(str(error)) from error
        return {"amount_a_month": str(amount), "currency": cleaned["currency"]}


FORMS: dict[str, type[AnswerForm]] = {
    form.question: form
    for form in (RoadmapForm, MaintainersForm, GenerationsForm, TailLatencyForm, GpuBillForm)
}
