"""Forms for evidence files and answers of the questionnaire."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import Solution
from engagements.common.amount_fields import AmountError, parse_amount
from engagements.common.date_fields import DayField
from engagements.common.errors import ApplicationError
from engagements.common.money import UnknownCurrency, minor_unit
from engagements.common.row_fields import Cell, RowsField
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


class CandidateForm(forms.Form):
    """The candidate that a profile belongs to; empty for the customer's workload."""

    candidate = forms.ModelChoiceField(
        Solution.objects.none(),
        required=False,
        label="Profile of",
        empty_label="The customer’s workload",
        help_text="A candidate’s profile is shown on its runs and does not count as evidence.",
    )

    def __init__(self, *args: Any, candidates: QuerySet[Solution], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["candidate"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = candidates


class StaffFilesForm(FilesForm, CandidateForm):
    """Upload profiles and traffic logs, or profiles of a candidate."""

    field_order = ("chosen", "candidate")


class AnswerForm(forms.Form):
    """Answer a question: its fields, the author and the date."""

    question: str

    answered_by = forms.CharField(
        max_length=160, label="Answered by", help_text="Usually an employee of the customer."
    )
    answered_on = DayField(
        label="On",
        initial=timezone.localdate,
    )
    note = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    field_order = (
        "models",
        "people",
        "generations",
        "percentile",
        "target_ms",
        "measured_ms",
        "amount",
        "currency",
    )

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

    @classmethod
    def initial_of(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON data of an answer as the form shows it."""
        return value


def _axes(text: str, row: int) -> dict[str, int]:
    """Parse comma-separated axes with their sizes."""
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, size = re.sub(r"[=:]", " ", part).partition(" ")
        if not size.strip().isdecimal() or len(size.strip()) > LONGEST_SIZE:
            raise ApplicationError(
                f"Row {row}: replace “{part}” by an axis and its size, such as head_dim 256.",
                code="answer.axis",
            )
        found[name] = int(size)
    return found


class RoadmapForm(AnswerForm):
    """Planned models."""

    question = Question.ROADMAP
    models = RowsField(
        Cell(name="expected_on", label="Date", kind="date"),
        Cell(name="name", label="Model", placeholder="Llama 5"),
        Cell(name="axes", label="Changed axes", is_required=False, placeholder="head_dim 256"),
        label="Planned models",
        help_text="With the axes of the operator that change. Leave empty if no change is planned.",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Build the models with their axes."""
        return {
            "models": [
                {
                    **row,
                    "expected_on": str(row["expected_on"]),
                    "axes": _axes(row["axes"] or "", at),
                }
                for at, row in enumerate(cleaned["models"], start=1)
            ]
        }

    @classmethod
    def initial_of(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the answer as the form shows it."""
        return {
            "models": [
                {**row, "axes": ", ".join(f"{axis} {size}" for axis, size in row["axes"].items())}
                for row in value["models"]
            ]
        }


class MaintainersForm(AnswerForm):
    """Maintainers of the kernel."""

    question = Question.MAINTAINERS
    people = RowsField(
        Cell(name="name", label="Person or team", placeholder="Performance team"),
        Cell(name="hours_a_month", label="Hours a month", kind="number", placeholder="12"),
        label="People",
        help_text="Leave empty if nobody will maintain it.",
    )


class GenerationsForm(AnswerForm):
    """GPUs that the kernel must support."""

    question = Question.GPU_GENERATIONS
    generations = RowsField(
        Cell(name="name", label="GPU", placeholder="B200"),
        Cell(name="planned_on", label="From", kind="date", is_required=False),
        label="GPUs",
        help_text="Leave the date empty for a GPU already in use.",
    )

    def value(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Build the GPUs with ISO dates."""
        return {
            "generations": [
                {**row, "planned_on": row["planned_on"] and row["planned_on"].isoformat()}
                for row in cleaned["generations"]
            ]
        }


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
            raise ValidationError(str(error), code="currency") from error
        return code

    @classmethod
    def initial_of(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the monthly amount under the name of its field."""
        return {"amount": value["amount_a_month"], "currency": value["currency"]}

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
