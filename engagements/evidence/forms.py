"""Forms for evidence files and answers of the questionnaire."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.errors import ApplicationError
from engagements.common.money import UnknownCurrency, minor_unit
from engagements.evidence.models import Answer
from engagements.evidence.readers import questions as values

Question = Answer.Question
MOST_FILES = 20
# Digits of an axis size.
LONGEST_SIZE = 12


class FilesInput(forms.ClearableFileInput):
    """A file input for several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A field of several files. The cleaned value is a list; empty files are dropped unless "
    "alone."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        """Validate each file by itself."""
        files = data if isinstance(data, list | tuple) and data else [data or None]
        if len(files) > MOST_FILES:
            raise ValidationError(f"Choose at most {MOST_FILES} files at a time.")
        full = [each for each in files if each is None or each.size] or files[:1]
        return [super(FilesField, self).clean(each, initial) for each in full]


class FilesForm(forms.Form):
    """Upload profiles and traffic logs."""

    chosen = FilesField(
        label="Files",
        help_text="PyTorch profiler traces (.json, .json.gz), Nsight Systems exports (SQLite), "
        "Nsight Compute exports (CSV, either page), shape traffic (CSV, Parquet, JSON lines). "
        "The format is detected from the content.",
    )

    def left_out(self) -> list[str]:
        """Return the names of the empty files that were dropped."""
        kept = {id(file) for file in self.cleaned_data["chosen"]}
        return [str(file.name) for file in self.files.getlist("chosen") if id(file) not in kept]


class AnswerForm(forms.Form):
    """Answer a question: its fields, the author and the date."""

    question: str

    answered_by = forms.CharField(
        max_length=160, label="Answered by", help_text="Usually an employee of the customer."
    )
    answered_on = forms.DateField(
        label="On",
        initial=timezone.localdate,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    note = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    field_order = ("entries", "percentile", "target_ms", "measured_ms", "amount", "currency")

    def clean(self) -> dict[str, Any]:
        """Parse the answer from all fields together."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                cleaned["value"] = values.as_data(values.parse(self.question, self.value(cleaned)))
            except ApplicationError as error:
                raise ValidationError(error.message, code=error.code) from error
        return cleaned

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Build the answer's JSON data from valid fields; by default the form's own fields."""
        return {name: cleaned[name] for name in self.fields if name not in AnswerForm.base_fields}


def _entries(label: str, help_text: str, placeholder: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 3, "placeholder": placeholder})
    return forms.CharField(
        label=label, help_text=help_text, required=False, max_length=10_000, widget=widget
    )


def _split(text: str) -> list[tuple[int, str, str]]:
    """Split into non-empty lines: line number, first word, rest."""
    lines = enumerate((line.strip() for line in text.splitlines()), start=1)
    return [(number, *line.partition(" ")[::2]) for number, line in lines if line]


def _date(word: str, line: int) -> str:
    try:
        return dt.date.fromisoformat(word).isoformat()
    except ValueError as error:
        raise ApplicationError(
            f"Line {line}: start with a date, such as 2027-03-31 Llama 5.", code="answer.date"
        ) from error


def _axes(text: str, line: int) -> dict[str, int]:
    """Parse comma-separated axes with their sizes."""
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, size = re.sub(r"[=:]", " ", part).partition(" ")
        if not size.strip().isdecimal() or len(size.strip()) > LONGEST_SIZE:
            raise ApplicationError(
                f"Line {line}: replace “{part}” by an axis and its size, such as head_dim 256.",
                code="answer.axis",
            )
        found[name] = int(size)
    return found


class RoadmapForm(AnswerForm):
    """Planned models."""

    question = Question.ROADMAP
    entries = _entries(
        "Planned models",
        "A date and a name per line, then the axes that change with it. Leave "
        "empty if no change is planned.",
        "2027-03-31 Llama 5; head_dim 256, heads 64",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Parse one model per line."""
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
    """Maintainers of the kernel."""

    question = Question.MAINTAINERS
    entries = _entries(
        "People",
        "Hours a month and a name per line. Leave empty if nobody will.",
        "12 Performance team",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Parse one person or team per line."""
        people = []
        for line, word, rest in _split(cleaned["entries"]):
            try:
                hours = float(word.replace(",", "."))
            except ValueError as error:
                raise ApplicationError(
                    f"Line {line}: start with the hours a month, such as 12 Performance team.",
                    code="answer.hours",
                ) from error
            people.append({"hours_a_month": hours, "name": rest.strip()})
        return {"people": people}


class GenerationsForm(AnswerForm):
    """GPUs that the kernel must support."""

    question = Question.GPU_GENERATIONS
    entries = _entries(
        "GPUs",
        "A date and a name per line, or only a name for a GPU already in use.",
        "H200\n2027-01-01 B200",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Parse one GPU per line."""
        generations = []
        for line, word, rest in _split(cleaned["entries"]):
            dated = word[:2].isdigit() and "-" in word
            planned_on = _date(word, line) if dated else None
            name = rest.strip() if dated else f"{word} {rest}".strip()
            generations.append({"name": name, "planned_on": planned_on})
        return {"generations": generations}


class TailLatencyForm(AnswerForm):
    """A tail-latency target; all fields empty without one."""

    question = Question.TAIL_LATENCY
    percentile = forms.FloatField(required=False, help_text="Such as 99.")
    target_ms = forms.FloatField(required=False, label="Target, ms")
    measured_ms = forms.FloatField(required=False, label="Measured today, ms")


class GpuBillForm(AnswerForm):
    """Monthly cost of the workload's GPU time."""

    question = Question.GPU_BILL
    amount = forms.CharField(
        label="Per month, net",
        max_length=40,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    currency = forms.CharField(min_length=3, max_length=3)

    def clean_currency(self) -> str:
        """Return the currency code in capitals."""
        code = str(self.cleaned_data["currency"]).upper()
        try:
            minor_unit(code)
        except UnknownCurrency as error:
            raise ValidationError(str(error)) from error
        return code

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Parse the amount in its currency."""
        try:
            amount = parse_amount(cleaned["amount"], currency=cleaned["currency"])
        except AmountError as error:
            raise ApplicationError(str(error), code=error.code) from error
        return {"amount_a_month": str(amount), "currency": cleaned["currency"]}


FORMS: dict[str, type[AnswerForm]] = {
    form.question: form
    for form in (RoadmapForm, MaintainersForm, GenerationsForm, TailLatencyForm, GpuBillForm)
}
