"""Form fields whose choices are known only when the form is created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet

from benchmarks.models import Benchmark

# A value with its label, or the title of a group with those in it.
Choice = tuple[str, Any]


class BenchmarkField(forms.ModelChoiceField):
    """A choice of sealed benchmarks, by name and start of the digest."""

    def __init__(self, rows: QuerySet[Benchmark], **kwargs: Any) -> None:
        super().__init__(queryset=rows.defer("canonical"), **kwargs)

    def label_from_instance(self, obj: Benchmark) -> str:
        """Label as in decode-prefix, sha256:1f0c9ab2d3e4…"""
        return f"{obj.name}, {obj.digest[:19]}…"


def offer(field: forms.Field, choices: Sequence[Choice]) -> None:
    """Set the choices of a choice field."""
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


def offer_rows(field: forms.Field, rows: QuerySet[Any]) -> None:
    """Set the rows of a model choice field."""
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows
