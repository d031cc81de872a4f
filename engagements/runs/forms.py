"""Request a run."""

from __future__ import annotations

import uuid
from copy import copy
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet

from benchmarks.models import Benchmark, Solution
from benchmarks.services import solutions
from benchmarks.services.solutions import LARGEST_SOURCE_BYTES
from engagements.common.choice_fields import BenchmarkField, Choice, offer, offer_rows
from engagements.runs.models import EngagementRun
from engagements.runs.places import Place
from kernels import catalogue

Purpose = EngagementRun.Purpose
FILE = "file"


class RunForm(forms.Form):
    """A candidate, from the catalogue or from a file, and the purpose of the run.

    `request_key` makes repeated submissions request one run. An uploaded file is kept in
    `kept_name` and `kept_source`, so that it survives an error elsewhere in the form.
    """

    purpose = forms.ChoiceField(
        choices=[(each.value, each.label) for each in (Purpose.TRIAL, Purpose.ACCEPTANCE)],
        widget=forms.RadioSelect,
    )
    benchmark = BenchmarkField(
        Benchmark.objects.none(),
        required=False,
        empty_label="Benchmark of the contract",
        help_text="For trial runs only. Acceptance runs use the contract's benchmark.",
    )
    candidate = forms.ChoiceField(
        help_text="A kernel of the catalogue, at its present version, or your own file."
    )
    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        label="Solution file",
        help_text=(
            "One file (UTF-8, at most "
            f"{LARGEST_SOURCE_BYTES // 1024} KiB): Python (.py) with prepare() and run(), or CUDA "
            "(.cu) with these in its first comment."
        ),
        widget=forms.FileInput(attrs={"accept": ".py,.cu,text/x-python"}),
    )
    customer_nonce = forms.RegexField(
        r"^([0-9a-f]{32,128})?$",
        required=False,
        label="Customer’s nonce",
        help_text="32 to 128 hexadecimal digits from the customer, if they sent any: the record "
        "will contain them, which proves that it was measured afterwards.",
    )
    place = forms.ChoiceField(
        choices=[(each.value, each.label) for each in (Place.HOUSE, Place.CUSTOMER)],
        initial=Place.HOUSE,
        label="Measured",
        help_text="Of trial runs: the contract says where acceptance runs are measured. The "
        "customer’s runner downloads the source of the kernel.",
    )
    request_key = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)
    kept_name = forms.CharField(required=False, widget=forms.HiddenInput)
    kept_source = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def __init__(
        self,
        *args: Any,
        operators: list[str],
        may_accept: bool,
        benchmarks: QuerySet[Benchmark],
        has_runner: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self.fields["benchmark"], benchmarks.defer("canonical"))
        if not has_runner:
            del self.fields["place"]
        self.operators = operators
        offer(self.fields["candidate"], candidate_choices(operators))
        if not may_accept:
            offer(self.fields["purpose"], [(Purpose.TRIAL.value, Purpose.TRIAL.label)])
            self.fields["purpose"].initial = Purpose.TRIAL

    def clean(self) -> dict[str, Any]:
        """Read the uploaded file and keep it for the next submission."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("candidate") != FILE or "file" in self.errors:
            return cleaned
        uploaded = cleaned.get("file")
        if uploaded is not None:
            try:
                cleaned["kept_name"], cleaned["kept_source"] = _read(uploaded)
            except ValidationError as error:
                self._keep("", "")
                self.add_error("file", error)
                return cleaned
        if not cleaned.get("kept_source"):
            self.add_error("file", "Choose a file, or a kernel of the catalogue above.")
        self._keep(cleaned.get("kept_name", ""), cleaned.get("kept_source", ""))
        return cleaned

    def _keep(self, name: str, source: str) -> None:
        # Submitted data is immutable; its copy is not.
        data = copy(self.data)
        assert isinstance(data, dict)
        data["kept_name"], data["kept_source"] = name, source
        self.data = data

    def solution(self, operator: str) -> Solution:
        """Store the candidate. Declines a source that is not a solution of `operator`."""
        chosen: str = self.cleaned_data["candidate"]
        if chosen != FILE:
            of, _, name = chosen.partition("/")
            return solutions.from_catalogue(operator=of, name=name)
        filename: str = self.cleaned_data["kept_name"]
        return solutions.submit(
            name=filename.rpartition(".")[0],
            operator=operator,
            filename=filename,
            source=self.cleaned_data["kept_source"],
        )


def candidate_choices(operators: list[str]) -> list[Choice]:
    """Return the catalogue's kernels of these operators and the option of a file."""
    groups: list[Choice] = [
        (
            catalogue.definition(operator).title,
            [(f"{operator}/{name}", name) for name in catalogue.candidates(operator)],
        )
        for operator in operators
        if operator in catalogue.operators()
    ]
    return [("", "Choose a candidate"), *groups, (FILE, "My own file, below")]


def _read(uploaded: UploadedFile) -> tuple[str, str]:
    """Return the file's name and text. ValidationError for an invalid file."""
    name = str(uploaded.name or "")
    if not uploaded.size:
        raise ValidationError(f"{name} is empty. Choose another file.", code="empty")
    if uploaded.size > LARGEST_SOURCE_BYTES:
        raise ValidationError(
            f"{name} has {uploaded.size // 1024} KiB. Choose a source of at most "
            f"{LARGEST_SOURCE_BYTES // 1024} KiB.",
            code="size",
        )
    if not solutions.FILENAME.fullmatch(name):
        raise ValidationError(
            "Rename the file: use letters, digits and underscores, as in triton_fused.py.",
            code="name",
        )
    content = uploaded.read()
    if b"\0" in content:
        raise ValidationError(f"{name} is a binary file. Choose a source file.", code="binary")
    try:
        return name, content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValidationError(
            f"{name} is not UTF-8 text (byte {error.start + 1}). Save it as UTF-8.", code="encoding"
        ) from error
