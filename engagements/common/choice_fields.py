"""What a field of choices offers, where that is known only when its form is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet

from benchmarks.models import Benchmark

# A value with its label, or the title of a group with those in it.
Choice = tuple[str, Any]


class BenchmarkField(forms.ModelChoiceField):
    """One of the sealed benchmarks, each by its name and the head of its digest."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(queryset=Benchmark.objects.defer("canonical"), **kwargs)

    def label_from_instance(self, obj: Benchmark) -> str:
        """As in decode-prefix, sha256:1f0c9ab2d3e4…"""
        return f"{obj.name}, {obj.digest[:19]}…"


def offer(field: forms.Field, choices: Sequence[Choice]) -> None:
    """Let a field of choices offer these alone."""
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


def offer_rows(field: forms.Field, rows: QuerySet[Any]) -> None:
    """Let a field that chooses among rows offer these alone."""
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows
